"""Ack tokens, the payloads of answers, and the rule that a message is answered for good once."""

from datetime import UTC, datetime

import pytest
from typing_extensions import override

from penstock_jetstream.core import acks
from penstock_jetstream.core.acks import AckToken, Answerable, nak_payload, parse_token, term_payload
from penstock_jetstream.errors import LinkError, ProtocolError, UsageError

V1 = b"$JS.ACK.ORDERS.etl.2.17.9.1700000000123456789.4"
V2 = b"$JS.ACK.hub.2Xk3abcd.ORDERS.etl.2.17.9.1700000000123456789.4"
FACTS = ("ORDERS", "etl", 2, 17, 9, 1_700_000_000_123_456_789, 4)


@pytest.mark.requirement("S-15")
def test_a_token_of_nine_parts_is_version_1() -> None:
    assert parse_token(V1) == AckToken(None, *FACTS)


@pytest.mark.requirement("S-16")
def test_a_token_of_eleven_parts_is_version_2_and_has_a_domain() -> None:
    assert parse_token(V2) == AckToken("hub", *FACTS)


@pytest.mark.requirement("S-16", "S-17")
def test_parts_that_a_later_server_appends_say_nothing() -> None:
    assert parse_token(V2 + b".abcdef.more") == parse_token(V2)


@pytest.mark.requirement("S-17")
def test_an_underscore_is_no_domain() -> None:
    assert parse_token(V2.replace(b"hub", b"_")).domain is None


@pytest.mark.requirement("S-14", "S-16")
@pytest.mark.parametrize(
    ("reply", "why"),
    [
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
    ],
)
def test_what_is_no_token_is_an_error_that_says_why(reply: bytes, why: str) -> None:
    with pytest.raises(ProtocolError, match=why) as caught:
        parse_token(reply)
    assert len(str(caught.value)) < 300


def test_a_timestamp_is_a_time_in_utc() -> None:
    assert parse_token(V1).timestamp == datetime(2023, 11, 14, 22, 13, 20, 123_456, tzinfo=UTC)


@pytest.mark.requirement("S-20")
def test_each_answer_has_its_payload() -> None:
    assert nak_payload() == b"-NAK"
    assert nak_payload(1.5) == b'-NAK {"delay": 1500000000}'
    assert nak_payload(0) == b'-NAK {"delay": 0}'
    assert term_payload() == b"+TERM"
    assert term_payload("no such région") == "+TERM no such région".encode()


@pytest.mark.requirement("S-20")
@pytest.mark.parametrize("delay", [-1, float("nan"), float("inf")])
def test_a_delay_that_is_no_time_is_refused(delay: float) -> None:
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


@pytest.mark.requirement("S-21")
@pytest.mark.parametrize("final", [acks.ACK, acks.NAK, acks.TERM])
def test_after_one_final_answer_every_other_is_silently_nothing(final: bytes) -> None:
    message = Recorded()
    message.answer(final)
    for payload in (acks.ACK, acks.NAK, acks.TERM):
        message.answer(payload)
    message.answer(acks.IN_PROGRESS, is_final=False)
    assert message.sent == [final]


@pytest.mark.requirement("S-20", "S-21")
def test_progress_may_be_told_any_number_of_times_before_the_final_answer() -> None:
    message = Recorded()
    message.answer(acks.IN_PROGRESS, is_final=False)
    message.answer(acks.IN_PROGRESS, is_final=False)
    message.answer(acks.ACK)
    assert message.sent == [acks.IN_PROGRESS, acks.IN_PROGRESS, acks.ACK]


@pytest.mark.requirement("S-21", "S-23")
def test_an_answer_that_could_not_be_sent_may_be_given_again() -> None:
    message = Recorded()
    message.link_is_up = False
    with pytest.raises(LinkError):
        message.answer(acks.ACK)
    message.link_is_up = True
    message.answer(acks.ACK)
    assert message.sent == [acks.ACK]


@pytest.mark.requirement("S-22")
def test_where_nothing_is_to_be_acknowledged_no_answer_is_sent() -> None:
    message = Recorded(is_settled=True)
    message.answer(acks.ACK)
    message.answer(acks.IN_PROGRESS, is_final=False)
    assert message.sent == []
