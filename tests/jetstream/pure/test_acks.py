"""Ack tokens: what a message's reply subject says of it."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as some

from penstock_jetstream.core.acks import AckToken, parse_token
from penstock_jetstream.errors import ProtocolError

V1 = b"$JS.ACK.ORDERS.etl.2.17.9.1700000000123456789.4"
V2 = b"$JS.ACK.hub.2Xk3abcd.ORDERS.etl.2.17.9.1700000000123456789.4"
FACTS = ("ORDERS", "etl", 2, 17, 9, 1_700_000_000_123_456_789, 4)


@pytest.mark.requirement("S-15", "S-16", "S-17")
def test_a_token_has_nine_parts_or_eleven_with_a_domain_and_later_servers_may_append_more() -> None:
    assert parse_token(V1) == AckToken(None, *FACTS)
    assert parse_token(V1).timestamp == datetime(2023, 11, 14, 22, 13, 20, 123_456, tzinfo=UTC)
    assert parse_token(V2) == parse_token(V2 + b".abcdef.more") == AckToken("hub", *FACTS)
    assert parse_token(V2.replace(b"hub", b"_")).domain is None


@pytest.mark.requirement("S-14", "S-16")
def test_what_is_no_token_is_an_error_that_says_why(subtests: pytest.Subtests) -> None:
    cases = [
        (b"", "does not begin with"),
        (b"_INBOX.a.b.c.d.e.f.g.h", "does not begin with"),
        (b"$JS.ACKS" + V1.removeprefix(b"$JS.ACK"), "does not begin with"),
        (V1.rpartition(b".")[0], "8 tokens"),
        (V1 + b".1", "10 tokens"),
        (V1.replace(b".17.", b".x7."), "'x7'"),
        (V1.replace(b".17.", b".-7."), "'-7'"),
        (V1.replace(b".17.", b".1_7."), "'1_7'"),
        (V1.replace(b".17.", ".².".encode()), "where a number should"),  # a digit to str.isdigit
        (V1.replace(b".17.", b".."), "where a number should"),
        (V1.replace(b".17.", b"." + b"9" * 5_000 + b"."), "where a number should"),
        (V1.replace(b".etl.", b".."), "empty"),
        (V1.replace(b".etl.", b".\xff."), "not UTF-8"),
        (V2.replace(b".hub.", b".."), "empty"),
    ]
    for reply, why in cases:
        with subtests.test(repr(reply[:60])):
            with pytest.raises(ProtocolError, match=why) as caught:
                parse_token(reply)
            assert len(str(caught.value)) < 300


_names = some.text(some.characters(exclude_characters=". *>\r\n\t", codec="utf-8"), min_size=1)
_numbers = some.integers(min_value=0, max_value=2**64 - 1)


@pytest.mark.requirement("S-15", "S-16")
@given(some.builds(AckToken, some.none() | _names.filter(lambda name: name != "_"), _names, _names, *[_numbers] * 5))
def test_every_token_survives_being_written_and_read(token: AckToken) -> None:
    facts = (token.stream, token.consumer, token.delivered, token.stream_sequence, token.consumer_sequence)
    tail = ".".join(str(fact) for fact in (*facts, token.timestamp_ns, token.pending))
    assert parse_token(f"$JS.ACK.{token.domain or '_'}.hash.{tail}".encode()) == token
    if token.domain is None:
        assert parse_token(f"$JS.ACK.{tail}".encode()) == token
