"""Ack tokens under anything that may stand in a reply subject."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from penstock_jetstream.core import acks
from penstock_jetstream.core.acks import AckToken, parse_token
from penstock_jetstream.errors import ProtocolError


@pytest.mark.requirement("S-16")
@given(some.binary(max_size=200).map(lambda tail: acks.ACK_PREFIX + tail) | some.binary(max_size=200))
@example(acks.ACK_PREFIX + b".".join([b"\xc2\xb2"] * 9))  # a digit to str.isdigit, and no number
def test_any_bytes_are_a_token_or_a_protocol_error(reply: bytes) -> None:
    try:
        token = parse_token(reply)
    except ProtocolError:
        return
    assert token.stream
    assert token.consumer
    assert min(token.delivered, token.stream_sequence, token.consumer_sequence, token.pending) >= 0


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
