"""Ack tokens, the payloads of answers, and the rule that a message has one final answer."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as some
from typing_extensions import override

from penstock_jetstream.core import acks
from penstock_jetstream.core.acks import AckToken, Answerable, nak_payload, parse_token, term_payload
from penstock_jetstream.errors import LinkError, ProtocolError, UsageError

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


@pytest.mark.requirement("S-20")
def test_each_answer_has_its_payload_and_an_impossible_delay_is_refused() -> None:
    assert nak_payload() == b"-NAK"
    assert nak_payload(1.5) == b'-NAK {"delay": 1500000000}'
    assert nak_payload(0) == b'-NAK {"delay": 0}'
    assert term_payload() == b"+TERM"
    assert term_payload("no such région") == "+TERM no such région".encode()
    for delay in (-1, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="cannot be delayed"):
            nak_payload(delay)


class Recorded(Answerable):
    """Answers go to a list; while the link is down, sending fails."""

    def __init__(self, *, is_settled: bool = False) -> None:
        self.is_settled = is_settled
        self.sent: list[bytes] = []
        self.link_is_up = True

    @override
    def _send_answer(self, payload: bytes) -> None:
        if not self.link_is_up:
            raise LinkError("There is no link.")
        self.sent.append(payload)


@pytest.mark.requirement("S-20", "S-21")
def test_a_message_has_any_number_of_progress_answers_and_one_final_answer() -> None:
    for final in (acks.ACK, acks.NAK, acks.TERM):
        message = Recorded()
        for payload in (acks.IN_PROGRESS, acks.IN_PROGRESS, final, acks.ACK, acks.NAK, acks.TERM, acks.IN_PROGRESS):
            message.answer(payload, is_final=payload != acks.IN_PROGRESS)
        assert message.sent == [acks.IN_PROGRESS, acks.IN_PROGRESS, final]


@pytest.mark.requirement("S-21", "S-22", "S-23")
def test_an_answer_that_could_not_be_sent_may_be_repeated_and_without_acks_none_is_sent() -> None:
    message = Recorded()
    message.link_is_up = False
    with pytest.raises(LinkError):
        message.answer(acks.ACK)
    message.link_is_up = True
    message.answer(acks.ACK)
    assert message.sent == [acks.ACK]
    message = Recorded(is_settled=True)
    message.answer(acks.ACK)
    message.answer(acks.IN_PROGRESS, is_final=False)
    assert message.sent == []
