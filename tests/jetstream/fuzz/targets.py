"""What must hold for any bytes at all: one function for each thing that takes bytes from a server.

Each returns if it holds. Called by a fuzzer (__main__.py), and by a test with what the fuzzer has found (corpus.py).
"""

from collections.abc import Callable, Iterable, Sequence

from penstock_jetstream.core.acks import ACK_PREFIX, parse_token
from penstock_jetstream.core.headers import Headers, encode
from penstock_jetstream.core.wire import Block, Event, Parser
from penstock_jetstream.errors import ProtocolError, UsageError

BLOCK_SIDS = (b"1", b"2")


def frames(data: bytes) -> None:
    """A stream gives the same in one piece, byte by byte, torn anywhere, and as blocks."""
    size, stream = 1 + data[0] % 32 if data else 1, data[1:]
    whole = _parsed([stream])
    pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert _parsed(pieces) == whole
    assert _parsed([stream], BLOCK_SIDS) == whole
    assert _parsed(pieces, BLOCK_SIDS) == whole


def headers(data: bytes) -> None:
    """A header block that can be read says the same when it is written and read again."""
    try:
        block = Headers.parse(b"NATS/1.0" + data + b"\r\n\r\n")
        wanted = {name: block.all(name) for name in block}
        written = Headers.parse(encode(wanted))
    except (ProtocolError, UsageError):  # of a name that we would not send
        return
    assert {name: written.all(name) for name in written} == wanted


def tokens(data: bytes) -> None:
    """An ack token is read, with a time that can be told, or is a protocol error."""
    try:
        token = parse_token(ACK_PREFIX + data)
    except ProtocolError:
        return
    assert token.stream
    assert token.timestamp.year


TARGETS: dict[str, Callable[[bytes], None]] = {"frames": frames, "headers": headers, "tokens": tokens}


def _parsed(pieces: Iterable[bytes], block_sids: Sequence[bytes] = ()) -> list[Event] | None:
    """Return messages and the rest; None for an error, as how much comes before it may depend on the pieces."""
    parser = Parser()
    parser.block_sids = set(block_sids)
    try:
        return [each for piece in pieces for event in parser.feed(piece) for each in _single(event)]
    except ProtocolError:
        return None


def _single(event: Event) -> Iterable[Event]:
    if not isinstance(event, Block):
        return (event,)
    rows = enumerate(zip(event.subjects, event.replies, event.payloads, strict=True))
    return [(event.sid, subject, reply, event.headers.get(row, b""), data) for row, (subject, reply, data) in rows]
