"""Frames of NATS: what the parser makes of whole, torn and damaged streams, and what is published."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_jetstream.core import wire
from penstock_jetstream.core.wire import Info, Message, Ok, Ping, Pong, Refusal
from penstock_jetstream.errors import ProtocolError
from tests.jetstream.fuzz.targets import outcome, parsed
from tests.jetstream.streams import SIDS, frame, messages, payloads, streams, subjects, torn

cuts = st.lists(st.integers(min_value=0), max_size=6)
blocks = st.sets(st.sampled_from(SIDS)).map(sorted)


def test_each_frame_is_an_event() -> None:
    stream = (
        b'INFO {"server_id":"A"}\r\nPING\r\nPONG\r\n+OK\r\n-ERR \'Stale Connection\'\r\n'
        b"MSG a.b 1 5\r\nhello\r\nMSG a.b 1 answer.to 0\r\n\r\nHMSG a 2 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nhi\r\n"
    )
    assert parsed([stream]) == [
        Info({"server_id": "A"}),
        Ping(),
        Pong(),
        Ok(),
        Refusal("Stale Connection"),
        (b"1", b"a.b", b"", b"", b"hello"),
        (b"1", b"a.b", b"answer.to", b"", b""),
        (b"2", b"a", b"", b"NATS/1.0\r\nA: b\r\n\r\n", b"hi"),
    ]


HELLO = (b"1", b"a", b"r", b"", b"hello")


def test_a_frame_behind_messages_is_read_or_refused_at_once(subtests: pytest.Subtests) -> None:
    for control in (b"PONG\r\n", b"PING\r\n", b"+OK\r\n", b"INFO {}\r\n"):
        with subtests.test(repr(control)):
            assert parsed([frame(HELLO) * 3 + control])[3:] == parsed([control])
    for line in (b"MSG a 2 junk", b"MSG a 2 %d" % (1 << 30), b"HMSG a 2 5", b"MSG a 2 1\r\nlonger"):
        with subtests.test(repr(line)), pytest.raises(ProtocolError):
            parsed([frame(HELLO) * 3 + line + b"\r\n"])


@given(st.lists(messages), blocks)
def test_messages_are_read_as_they_were_sent(sent: list[Message], block_sids: list[bytes]) -> None:
    assert parsed([b"".join(map(frame, sent))], block_sids) == sent


@given(streams, cuts, blocks)
def test_a_stream_gives_the_same_events_wherever_it_is_torn(
    stream: bytes, where: list[int], block_sids: list[bytes]
) -> None:
    whole = parsed([stream])
    assert parsed(torn(stream, where), block_sids) == whole
    assert parsed(stream[index : index + 1] for index in range(len(stream))) == whole


@given(streams, st.integers(min_value=0), st.binary(min_size=1, max_size=8), cuts)
def test_a_damaged_stream_gives_the_same_events_or_error_wherever_it_is_torn(
    stream: bytes, where: int, damage: bytes, pieces: list[int]
) -> None:
    place = where % (len(stream) + 1)
    damaged = stream[:place] + damage + stream[place + len(damage) :]
    assert outcome([damaged]) == outcome(torn(damaged, pieces))


@pytest.mark.interpreter
def test_a_line_that_is_no_frame_is_a_protocol_error_at_once(subtests: pytest.Subtests) -> None:
    sizes = (b"", b" a", b" a 1", b" a 1 x", b" a 1 -1", b" a 1 +1", b" a 1 1_0", b" a 1 r s 5", b" a 1 1000000000")
    lines = [
        *(b"", b"HTTP/1.1 400 Bad Request", b"HMSG a 1 5", b"HMSG a 1 20 10", b"MSG a 1 " + b"9" * 1000),
        *(b"MSG" + size for size in sizes),
        *(b"INFO", b"INFO {", b"INFO []", b'INFO {"a":\xff}', b"INFO " + b"[" * 10_000),
    ]
    for line in lines:
        with subtests.test(repr(line[:30])), pytest.raises(ProtocolError):
            parsed([b"PING\r\n" + line + b"\r\n"])


def test_a_line_or_a_message_that_does_not_end_where_it_should_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        parsed([b"x" * 100_000] * (wire.MAX_LINE_BYTES // 100_000 + 2))
    with pytest.raises(ProtocolError):
        parsed([b"MSG a 1 5\r\nhello, world\r\n"])


def test_a_large_message_in_small_pieces_is_not_joined_each_time() -> None:
    message = (b"1", b"a", b"", b"", b"x" * (8 << 20))
    data = frame(message)
    began = time.process_time()
    assert parsed(data[start : start + 250] for start in range(0, len(data), 250)) == [message]
    assert time.process_time() - began < 5, "it takes some ms of CPU; joining the pieces each time copies 140 GB"


@given(subjects, payloads, st.one_of(st.just(b""), subjects))
def test_a_publish_has_its_sizes(subject: bytes, payload: bytes, reply: bytes) -> None:
    header = b"NATS/1.0\r\nA: b\r\n\r\n"
    to = b" ".join([subject, reply] if reply else [subject])
    size = len(payload)
    assert wire.publish(subject, payload, reply=reply) == b"PUB %b %d\r\n%b\r\n" % (to, size, payload)
    with_header = b"HPUB %b 18 %d\r\n%b%b\r\n" % (to, 18 + size, header, payload)
    assert wire.publish(subject, payload, reply=reply, header=header) == with_header


@given(st.lists(subjects), payloads)
def test_one_payload_to_many_is_the_same_as_many_single_ones(to: list[bytes], payload: bytes) -> None:
    assert wire.publish_same(to, payload) == b"".join(wire.publish(subject, payload) for subject in to)
