"""A message: its facts, and what is sent to answer it (its effect on a server is tested in live/test_acks.py)."""

from collections.abc import Callable

import pytest

from penstock_jetstream.client.message import Message
from penstock_jetstream.core.sizes import header_bytes_without_pin, pin_id
from penstock_jetstream.errors import LinkError, ProtocolError, RequestTimeoutError, UsageError

TOKEN = b"$JS.ACK.ORDERS.etl.1.17.9.1700000000123456789.4"


class RecordingLink:
    """Keeps what is sent; `trouble` is raised instead."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.trouble: Exception | None = None

    def send(self, data: bytes, /) -> None:
        if self.trouble:
            raise self.trouble
        self.sent.append(data)

    async def request(self, subject: str, payload: bytes, *, timeout_seconds: float) -> None:
        del timeout_seconds
        self.send(f"{subject} ".encode() + payload)


def message(link: RecordingLink, *, reply: bytes = TOKEN, header: bytes = b"", is_settled: bool = False) -> Message:
    return Message(link, b"orders.eu", reply, header, b"payload", is_settled)


def test_a_message_has_its_subject_payload_headers_and_metadata() -> None:
    it = message(RecordingLink(), header=b"NATS/1.0\r\nregion: eu\r\n\r\n")
    assert (it.subject, it.data, it.reply) == ("orders.eu", b"payload", TOKEN.decode())
    assert it.headers["region"] == "eu"
    assert (it.metadata.stream, it.metadata.stream_sequence) == ("ORDERS", 17)
    assert it.metadata is it.metadata
    assert it.headers is it.headers
    assert repr(it) == "<Message on orders.eu: 7 bytes>"


@pytest.mark.requirement("C-36", "G-08")
def test_the_size_is_that_of_subject_reply_headers_and_payload_without_the_pin(subtests: pytest.Subtests) -> None:
    """The pin is the last line of the headers: the first one, a publisher that copies headers would publish again."""
    reply = b"$JS.ACK.S.c.1.1.1.1700000000123456789.9"
    assert len(reply) == 39
    for header in (b"", b"NATS/1.0\r\nA: b\r\n\r\n"):
        assert Message(RecordingLink(), b"m.1", reply, header, bytes(50)).size_bytes == 92 + len(header)
    added = "iuJwuuJHSx5AbrWWzYpQKl"
    pin = f"Nats-Pin-Id: {added}\r\n".encode()
    own = b"NATS/1.0\r\nA: b\r\n"
    copied = b"NATS/1.0\r\nNats-Pin-Id: OfAnotherConsumer\r\n"
    cases = {
        own + pin + b"\r\n": (added, 18),
        b"NATS/1.0\r\n" + pin + b"\r\n": (added, 0),  # the block is only for the pin
        own + b"\r\n": ("", 18),
        b"": ("", 0),
        copied + pin + b"\r\n": (added, len(copied) + 2),
        copied + b"A: b\r\n\r\n": ("", len(copied) + 8),
        b"NATS/1.0\r\nNats-Pin-Id: \xff\r\n\r\n": ("", 28),
    }
    for block, (pin_of_block, header_bytes) in cases.items():
        with subtests.test(repr(block)):
            assert (pin_id(block), header_bytes_without_pin(block)) == (pin_of_block, header_bytes)


ANSWERS: dict[bytes, Callable[[Message], None]] = {
    b"+ACK": Message.ack,
    b"-NAK": Message.nak,
    b'-NAK {"delay": 0}': lambda it: it.nak(0),
    b'-NAK {"delay": 1500000000}': lambda it: it.nak(1.5),
    b"+TERM": Message.term,
    "+TERM no such région".encode(): lambda it: it.term("no such région"),
    b"+WPI": Message.in_progress,
}


@pytest.mark.requirement("S-18", "S-20")
def test_an_answer_is_published_to_the_reply_subject_and_an_impossible_delay_is_refused(
    subtests: pytest.Subtests,
) -> None:
    for payload, answer in ANSWERS.items():
        with subtests.test(repr(payload)):
            link = RecordingLink()
            answer(message(link))
            assert link.sent == [b"PUB %b %d\r\n%b\r\n" % (TOKEN, len(payload), payload)]
    for delay in (-1, float("nan"), float("inf")):
        with subtests.test(delay=delay), pytest.raises(UsageError, match="cannot be delayed"):
            message(RecordingLink()).nak(delay)


@pytest.mark.requirement("S-20", "S-21", "S-22")
async def test_after_progress_and_one_final_answer_or_without_acks_nothing_more_is_sent() -> None:
    for final in (Message.ack, Message.nak, Message.term):
        link = RecordingLink()
        it = message(link)
        it.in_progress()
        it.in_progress()
        final(it)
        for each in (it, message(link, is_settled=True)):
            for again in (each.ack, each.nak, each.term, each.in_progress):
                again()
            each.nak(1)
            assert not await each.double_ack()
        assert len(link.sent) == 3


@pytest.mark.requirement("S-21", "S-23")
async def test_an_answer_that_failed_and_a_double_ack_without_an_answer_may_be_repeated() -> None:
    for answer in (Message.ack, Message.nak, Message.term):
        link = RecordingLink()
        it = message(link)
        link.trouble = LinkError("There is no link.")
        with pytest.raises(LinkError):
            answer(it)
        assert not it.is_settled
        link.trouble = None
        answer(it)
        assert len(link.sent) == 1
    link = RecordingLink()
    it = message(link)
    link.trouble = RequestTimeoutError("No answer came.")
    with pytest.raises(RequestTimeoutError):
        await it.double_ack()
    link.trouble = None
    assert await it.double_ack()
    assert it.is_settled


@pytest.mark.requirement("S-14")
async def test_a_message_of_no_stream_cannot_be_answered() -> None:
    for reply in (b"", b"_INBOX.someone"):
        link = RecordingLink()
        it = message(link, reply=reply)
        for answer in (it.ack, it.nak, it.term, it.in_progress):
            with pytest.raises(UsageError, match="comes from no stream"):
                answer()
        with pytest.raises(UsageError, match="comes from no stream"):
            await it.double_ack()
        with pytest.raises(ProtocolError, match="no ack token"):
            _ = it.metadata
        assert link.sent == []
