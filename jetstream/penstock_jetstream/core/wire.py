"""NATS's client protocol on the wire: bytes in, events out; and the frames that we send.

Knows frames, and how to keep a torn one until the rest of it comes. Does not know sockets, subscriptions or what a
message means. This is the innermost loop of the library: what looks repetitive here was measured.

A message is a plain tuple, as most are handed straight on to a function that makes of it what it wants. Messages of a
subscription that asked for blocks come as columns: no object per message, but what the columns hold.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from penstock_jetstream.core.facts import parse
from penstock_jetstream.errors import ProtocolError

Message = tuple[bytes, bytes, bytes, bytes, bytes]
"""Subscription id, subject, reply (or empty), header block (or empty), payload."""

MAX_LINE_BYTES = 1 << 20
"""An INFO that lists many servers is the longest line there is; a longer one is none."""
MAX_FRAME_BYTES = 65 << 20
"""The largest payload that a server can be configured to take is 64 MiB; with its headers it stays below this."""

_MAX_DIGITS = len(str(MAX_FRAME_BYTES))
_FIELDS = 5
"""MSG, subject, subscription id, reply, size."""


@dataclass(frozen=True, slots=True)
class Info:
    """What the server says of itself; it may say it anew at any time."""

    facts: Mapping[str, Any]


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


@dataclass(slots=True)
class Block:
    """Messages of one subscription that came together, as columns: row i of each is message i.

    All of them have a reply, which for a consumer's messages is the ack token.
    """

    sid: bytes
    subjects: list[bytes]
    replies: list[bytes]
    payloads: list[bytes]
    headers: dict[int, bytes]
    """The header blocks of those rows that have one."""

    def __len__(self) -> int:
        return len(self.replies)


Event = Message | Block | Info | Ping | Pong | Ok | Refusal

_Taken = tuple[list[Event], int, int]
"""The events, where the torn frame at the end begins, and how long it must be before another look is worth it."""


class Parser:
    """Feed it what was read; it returns what has come whole. After a ProtocolError it is of no more use."""

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
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
        taken = self._take_alike(data) or self._take_any(data)
        events, rest, self._needed_bytes = taken
        self._pieces = [data[rest:]] if rest < len(data) else []
        self._pieces_bytes = len(data) - rest
        return events

    def _take_alike(self, data: bytes) -> _Taken | None:
        """Take data apart that is all `MSG subject sid reply size`, in a handful of passes over all of it.

        Under load nearly all data is. Where a guess (that no payload has a line break, that each has a reply) is wrong,
        the sizes do not fit, and None is returned: sizes that fit tell for sure, as the first line begins the data.
        """
        if not data.startswith(b"MSG "):
            return None
        pieces = data.split(b"\r\n")
        count = (len(pieces) - 1) // 2
        lines, payloads, torn = pieces[0 : 2 * count : 2], pieces[1 : 2 * count : 2], pieces[2 * count :]
        fields = b" ".join(lines).split(b" ")
        subjects, sids, replies, sizes = (fields[column::_FIELDS] for column in range(1, _FIELDS))
        ops = fields[::_FIELDS]
        if not (count and len(fields) == _FIELDS * count and ops.count(b"MSG") == count and _fit(sizes, payloads)):
            return None
        needed = self._needed(*torn)
        if needed is None:
            return None
        rest = len(data) - sum(map(len, torn)) - 2 * (len(torn) - 1)
        if self.block_sids.isdisjoint(sids):
            return list(zip(sids, subjects, replies, repeat(b""), payloads, strict=False)), rest, needed
        if sids.count(sids[0]) == count:
            return [Block(sids[0], subjects, replies, payloads, {})], rest, needed
        return None

    def _take_any(self, data: bytes) -> _Taken:
        events: list[Event] = []
        block: Block | None = None
        end, position = len(data), 0
        while (eol := data.find(b"\r\n", position)) >= 0:
            line = data[position:eol]
            if not line.startswith((b"MSG ", b"HMSG ")):
                events.append(_control(line))
                block, position = None, eol + 2
                continue
            sid, subject, reply, header_bytes, size_bytes = self._announced(line)
            body = eol + 2
            after = body + size_bytes
            if after + 2 > end:
                return events, position, after + 2 - position
            if data[after : after + 2] != b"\r\n":
                raise _malformed(line)
            header, payload = data[body : body + header_bytes], data[body + header_bytes : after]
            if reply and sid in self.block_sids:
                if block is None or block.sid != sid:
                    block = Block(sid, [], [], [], {})
                    events.append(block)
                if header:
                    block.headers[len(block)] = header
                block.subjects.append(subject)
                block.replies.append(reply)
                block.payloads.append(payload)
            else:
                block = None
                events.append((sid, subject, reply, header, payload))
            position = after + 2
        if end - position > MAX_LINE_BYTES:
            raise _malformed(data[position:end])
        return events, position, 0

    def _needed(self, line: bytes, body: bytes | None = None) -> int | None:
        """Return how long a torn frame must become: 0 where its line is torn, too; None where nothing is torn at all.

        What is whole must be judged now, as nothing more may come for a long time: a PONG, or a line that is malformed.
        """
        if body is None:
            return 0
        if not line.startswith((b"MSG ", b"HMSG ")):
            return None
        *_, size_bytes = self._announced(line)
        return len(line) + size_bytes + 4 if len(body) < size_bytes + 2 else None

    def _announced(self, line: bytes) -> tuple[bytes, bytes, bytes, int, int]:
        """Return what the line of a message says: id, subject, reply, and the sizes of its headers and of all of it."""
        op, *fields = line.split(b" ")
        if not all(size.isdigit() and len(size) <= _MAX_DIGITS for size in fields[-2 if op == b"HMSG" else -1 :]):
            raise _malformed(line)
        size_bytes = int(fields.pop()) if fields else 0
        header_bytes = int(fields.pop()) if op == b"HMSG" and fields else 0
        if len(fields) not in (2, 3) or not header_bytes <= size_bytes:
            raise _malformed(line)
        if size_bytes > self._max_frame_bytes:
            raise ProtocolError(f"A message of {size_bytes} bytes is larger than {self._max_frame_bytes}.")
        subject, sid, *reply = fields
        return sid, subject, reply[0] if reply else b"", header_bytes, size_bytes


def _fit(sizes: list[bytes], payloads: list[bytes]) -> bool:
    are_numbers = b"".join(sizes).isdigit() and 0 < min(map(len, sizes)) <= max(map(len, sizes)) <= _MAX_DIGITS
    return are_numbers and list(map(int, sizes)) == list(map(len, payloads))


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
        return Info(parse(line[5:], "INFO").raw)
    raise _malformed(line)


def _malformed(line: bytes) -> ProtocolError:
    """Leave out what came: it may be the greeting of another service, and errors are shown to other people."""
    return ProtocolError(f"What came is not NATS: a line of {len(line)} bytes.")


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
