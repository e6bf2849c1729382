"""NATS's client protocol on the wire: bytes in, events out; and the frames that we send.

Knows frames, and how to keep a torn one until the rest of it comes. Does not know sockets, subscriptions or what a
message means. This is the innermost loop of the library: what looks repetitive here was measured.

A message is a plain tuple, as most are handed straight on to a function that makes of it what it wants. Messages of a
subscription that asked for blocks are not taken apart at all: a block has their bytes, and where each stands.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock_jetstream.errors import ProtocolError

Message = tuple[bytes, bytes, bytes, bytes, bytes]
"""Subscription id, subject, reply (or empty), header block (or empty), payload."""

MAX_LINE_BYTES = 1 << 20
"""An INFO that lists many servers is the longest line there is; a longer one is none."""
MAX_FRAME_BYTES = 65 << 20
"""The largest payload that a server can be configured to take is 64 MiB; with its headers it stays below this."""

_M, _H, _P, _PLUS, _MINUS, _I = b"MHP+-I"


@dataclass(frozen=True, slots=True)
class Info:
    """What the server says of itself; it may say it anew at any time."""

    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ping:
    """The server wants a PONG."""


@dataclass(frozen=True, slots=True)
class Pong:
    """The server has seen all that was sent before our PING."""


@dataclass(frozen=True, slots=True)
class Ok:
    """The server took a command; it says so only to who asked for it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """`-ERR`: what the server did not like."""

    text: str


class Block:
    """Messages of one subscription as they came, next to each other: their bytes, and where each stands.

    `replies` are the ack tokens. Message i has its line at `starts[i]`; from `bodies[i]` to `ends[i]` are its headers, if
    any (`header_sizes[i]` bytes), and its payload.
    """

    __slots__ = ("bodies", "data", "ends", "header_sizes", "replies", "sid", "starts")

    def __init__(self, sid: bytes, data: bytes) -> None:
        self.sid = sid
        self.data = data
        self.replies: list[bytes] = []
        self.starts: list[int] = []
        self.bodies: list[int] = []
        self.ends: list[int] = []
        self.header_sizes: dict[int, int] = {}
        """Only of those that have headers."""

    def __len__(self) -> int:
        return len(self.replies)

    def subject(self, index: int) -> bytes:
        start = self.data.index(b" ", self.starts[index]) + 1
        return self.data[start : self.data.index(b" ", start)]

    def header(self, index: int) -> bytes:
        body = self.bodies[index]
        return self.data[body : body + self.header_sizes.get(index, 0)]

    def payload(self, index: int) -> bytes:
        return self.data[self.bodies[index] + self.header_sizes.get(index, 0) : self.ends[index]]


Event = Message | Block | Info | Ping | Pong | Ok | Refusal


class Parser:
    """Feed it what was read; it returns what has come whole. After a ProtocolError it is of no more use."""

    def __init__(self) -> None:
        self.block_sids: set[bytes] = set()
        """Subscriptions whose messages come as blocks. What has no reply (a status) comes as a message even so."""
        self._pieces: list[bytes] = []
        self._pieces_bytes = 0
        self._needed_bytes = 0

    def feed(self, data: bytes) -> list[Event]:
        if self._pieces:
            self._pieces.append(data)
            self._pieces_bytes += len(data)
            if self._pieces_bytes < self._needed_bytes:
                return []
            data = b"".join(self._pieces)
        events, rest, self._needed_bytes = self._parse(data)
        self._pieces = [data[rest:]] if rest < len(data) else []
        self._pieces_bytes = len(data) - rest
        return events

    def _parse(self, data: bytes) -> tuple[list[Event], int, int]:  # noqa: C901, PLR0912 - calls would double its cost
        """Return the events, where the torn frame at the end begins, and how long it must be before another look."""
        events: list[Event] = []
        block = None
        block_sids = self.block_sids
        find = data.find
        end, position, needed = len(data), 0, 0
        try:
            while (eol := find(b"\r\n", position)) >= 0:
                kind = data[position]
                if kind == _M:
                    op, subject, sid, *reply, size = data[position:eol].split(b" ")
                    header_bytes, valid = 0, op == b"MSG"
                elif kind == _H:
                    op, subject, sid, *reply, header_size, size = data[position:eol].split(b" ")
                    header_bytes, valid = int(header_size), op == b"HMSG"
                else:
                    events.append(_control(data[position:eol]))
                    block = None
                    position = eol + 2
                    continue
                size_bytes = int(size)
                if not valid or len(reply) > 1 or not 0 <= header_bytes <= size_bytes <= MAX_FRAME_BYTES:
                    raise _malformed(data[position:eol])
                body = eol + 2
                after = body + size_bytes
                if after + 2 > end:
                    needed = after + 2 - position
                    break
                if sid in block_sids and reply:
                    if block is None or block.sid != sid:
                        block = Block(sid, data)
                        events.append(block)
                    if header_bytes:
                        block.header_sizes[len(block.replies)] = header_bytes
                    block.replies.append(reply[0])
                    block.starts.append(position)
                    block.bodies.append(body)
                    block.ends.append(after)
                else:
                    block = None
                    payload_at = body + header_bytes
                    token = reply[0] if reply else b""
                    events.append((sid, subject, token, data[body:payload_at], data[payload_at:after]))
                position = after + 2
            else:
                if end - position > MAX_LINE_BYTES:
                    raise _malformed(data[position:end])
        except ValueError as problem:
            raise _malformed(data[position : find(b"\r\n", position)]) from problem
        return events, position, needed


def _control(line: bytes) -> Event:
    if line == b"PING":
        return Ping()
    if line == b"PONG":
        return Pong()
    if line == b"+OK":
        return Ok()
    if line.startswith(b"-ERR"):
        return Refusal(line[4:].strip().strip(b"'").decode("utf-8", "replace"))
    if line.startswith(b"INFO "):
        return Info(_facts(line[5:]))
    raise _malformed(line)


def _facts(text: bytes) -> dict[str, Any]:
    try:
        facts = json.loads(text)
    except ValueError as problem:
        raise ProtocolError(f"The server's INFO is not JSON: {text[:80]!r}.") from problem
    if not isinstance(facts, dict):
        raise ProtocolError(f"The server's INFO is not a JSON object: {text[:80]!r}.")
    return facts


def _malformed(line: bytes) -> ProtocolError:
    return ProtocolError(f"What came is not NATS: {line[:80]!r}.")


PING = b"PING\r\n"
PONG = b"PONG\r\n"


def connect(options: dict[str, Any]) -> bytes:
    return b"CONNECT " + json.dumps(options, separators=(",", ":")).encode() + b"\r\n"


def subscribe(subject: str, sid: bytes, queue: str = "") -> bytes:
    return f"SUB {subject} {queue} ".encode() + sid + b"\r\n" if queue else f"SUB {subject} ".encode() + sid + b"\r\n"


def unsubscribe(sid: bytes, max_messages: int = 0) -> bytes:
    return b"UNSUB " + sid + (b" %d\r\n" % max_messages if max_messages else b"\r\n")


def publish(subject: bytes, payload: bytes, *, reply: bytes = b"", header: bytes = b"") -> bytes:
    to = subject + b" " + reply if reply else subject
    if header:
        return b"HPUB %b %d %d\r\n%b%b\r\n" % (to, len(header), len(header) + len(payload), header, payload)
    return b"PUB %b %d\r\n%b\r\n" % (to, len(payload), payload)


def publish_same(subjects: Sequence[bytes], payload: bytes) -> bytes:
    """Return one payload to many subjects as one piece: the acks of a whole batch cost one join."""
    if not subjects:
        return b""
    tail = b" %d\r\n%b\r\n" % (len(payload), payload)
    return b"PUB " + (tail + b"PUB ").join(subjects) + tail
