"""What must hold for any bytes at all: one function for each parser of bytes from a server.

Each returns if it holds. Called by a fuzzer (__main__.py), and by a test with what the fuzzer has found (corpus.py) and
with what hypothesis makes up. Imports only the client library, as the fuzzer's environment has nothing else.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from penstock_jetstream.core.acks import ACK_PREFIX, parse_token
from penstock_jetstream.core.headers import Headers, encode
from penstock_jetstream.core.wire import Block, Event, Parser
from penstock_jetstream.errors import ProtocolError, UsageError

BLOCK_SIDS = (b"1", b"2")


def frames(data: bytes) -> None:
    """A stream gives the same in one piece, byte by byte, torn anywhere, and as blocks."""
    size, stream = 1 + data[0] % 32 if data else 1, data[1:]
    whole = outcome([stream])
    pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert outcome(pieces) == whole
    assert outcome([stream], BLOCK_SIDS) == whole
    assert outcome(pieces, BLOCK_SIDS) == whole


def headers(data: bytes) -> None:
    """A header block that can be read says the same when it is written and read again."""
    for block in (data, b"NATS/1.0" + data + b"\r\n\r\n", b"NATS/1.0\r\n" + data + b"\r\n\r\n"):
        try:
            read = Headers.parse(block)
            wanted = {name: read.all(name) for name in read}
            written = Headers.parse(encode(wanted))
        except (ProtocolError, UsageError):  # of a name that we would not send
            continue
        assert {name: written.all(name) for name in written} == wanted


def tokens(data: bytes) -> None:
    """An ack token is read, with a time that can be told, or is a protocol error."""
    for reply in (data, ACK_PREFIX + data):
        try:
            token = parse_token(reply)
        except ProtocolError:
            continue
        assert token.stream
        assert token.consumer
        assert min(token.delivered, token.stream_sequence, token.consumer_sequence, token.pending) >= 0
        assert token.timestamp.year


TARGETS: dict[str, Callable[[bytes], None]] = {"frames": frames, "headers": headers, "tokens": tokens}


def outcome(pieces: Iterable[bytes], block_sids: Sequence[bytes] = ()) -> list[Event] | None:
    """Return the events, or None for an error: how much comes before that may depend on the pieces."""
    try:
        return parsed(pieces, block_sids)
    except ProtocolError:
        return None


def parsed(pieces: Iterable[bytes], block_sids: Sequence[bytes] = ()) -> list[Event]:
    """Return what a parser makes of the pieces; blocks are taken apart, as where they end depends on the pieces."""
    parser = Parser()
    parser.block_sids = set(block_sids)
    return [event for piece in pieces for each in parser.feed(piece) for event in _single(each)]


def _single(event: Event) -> Iterator[Event]:
    if isinstance(event, Block):
        rows = enumerate(zip(event.subjects, event.replies, event.payloads, strict=True))
        for index, (subject, reply, payload) in rows:
            yield event.sid, subject, reply, event.headers.get(index, b""), payload
    else:
        yield event
