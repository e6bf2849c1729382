"""Messages as the engine keeps them: columns as they came from the lane, with what their reply subjects say.

Knows blocks and ack tokens, and makes of rows the table that the driver is handed. The tokens of
a block are taken apart together, not each alone, and by no thread but the caller's. Does not know batches.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import lt
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from penstock_jetstream import Block, parse_token
from penstock_jetstream.core.acks import V1_TOKENS, V2_TOKENS
from penstock_jetstream.core.headers import Headers
from penstock_jetstream.errors import ProtocolError
from penstock_worker.exchange.columns import COLUMNS

PREFIX = ((0, b"$JS"), (1, b"ACK"))
KNOWN_LENGTHS = {V1_TOKENS, V2_TOKENS, V2_TOKENS + 1}
"""Tokens of version 2 end with a random part where servers want one."""
FACTS_FROM_V1, FACTS_FROM_V2 = 4, 6
"""Which part is the first of: delivered, stream sequence, consumer sequence, timestamp, pending."""
DELIVERED, SEQUENCE, TIMESTAMP = 0, 1, 3
NANOSECONDS_PER_MICROSECOND = 1000

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Rows:
    """Messages as columns: row i of each is message i."""

    subjects: list[bytes]
    replies: list[bytes]
    payloads: list[bytes]
    headers: dict[int, bytes]
    """The header blocks of those rows that have one."""
    sequences: list[int]
    delivered: list[int]
    timestamps_ns: list[int]

    def __len__(self) -> int:
        return len(self.replies)

    @classmethod
    def of(cls, block: Block) -> "Rows":
        """Return the messages of a block. It must not be changed any more."""
        delivered, sequences, timestamps = _facts(block.replies)
        return cls(block.subjects, block.replies, block.payloads, block.headers, sequences, delivered, timestamps)

    @property
    def has_redelivered(self) -> bool:
        """Tell whether any was delivered before."""
        return self.delivered.count(1) != len(self)

    def sizes(self) -> list[int]:
        """Return how large each message is for a batch: its subject, its headers and its data."""
        sizes = [*map(sum, zip(map(len, self.subjects), map(len, self.payloads), strict=True))]
        for row, header in self.headers.items():
            sizes[row] += len(header)
        return sizes

    def part(self, start: int, stop: int) -> "Rows":
        """Return rows next to each other."""
        if start == 0 and stop == len(self):
            return self
        kept = slice(start, stop)
        return Rows(
            self.subjects[kept],
            self.replies[kept],
            self.payloads[kept],
            {row - start: header for row, header in self.headers.items() if start <= row < stop},
            self.sequences[kept],
            self.delivered[kept],
            self.timestamps_ns[kept],
        )

    def picked(self, rows: Sequence[int]) -> "Rows":
        """Return some rows, in the order that is given."""
        return Rows(
            [self.subjects[row] for row in rows],
            [self.replies[row] for row in rows],
            [self.payloads[row] for row in rows],
            {new: self.headers[row] for new, row in enumerate(rows) if row in self.headers},
            [self.sequences[row] for row in rows],
            [self.delivered[row] for row in rows],
            [self.timestamps_ns[row] for row in rows],
        )


def joined(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    headers, before = {}, 0
    for part in parts:
        headers.update({before + row: header for row, header in part.headers.items()})
        before += len(part)
    return Rows(
        _chained(part.subjects for part in parts),
        _chained(part.replies for part in parts),
        _chained(part.payloads for part in parts),
        headers,
        _chained(part.sequences for part in parts),
        _chained(part.delivered for part in parts),
        _chained(part.timestamps_ns for part in parts),
    )


def table(rows: Rows, stream: str) -> pa.Table:
    """Return messages as the driver gets them: in the columns of the exchange, in the order of their sequences."""
    count = len(rows)
    microseconds = pc.divide(pa.array(rows.timestamps_ns, pa.int64()), NANOSECONDS_PER_MICROSECOND)
    sequences = pa.array(rows.sequences, pa.int64())
    columns = [
        _texts(rows.subjects),
        pa.array(rows.payloads, pa.binary()),
        _header_column(rows.headers, count),
        pa.repeat(pa.scalar(stream, pa.string()), count),
        sequences,
        microseconds.cast(COLUMNS.field("timestamp").type),
        pa.array(rows.delivered, pa.int32()),
    ]
    messages = pa.Table.from_arrays(columns, schema=COLUMNS)
    if all(map(lt, rows.sequences, islice(rows.sequences, 1, None))):
        return messages
    return messages.take(pc.sort_indices(sequences))


def _facts(replies: list[bytes]) -> tuple[list[int], list[int], list[int]]:
    """Return how often each message was delivered, its sequence in the stream, and when that stored it."""
    return _facts_alike(replies) or _facts_of_any(replies)


def _facts_alike(replies: list[bytes]) -> tuple[list[int], list[int], list[int]] | None:
    """Read tokens that have all the same number of parts, in a few passes over all of them; None if they have not."""
    parts = b".".join(replies).split(b".")
    length, rest = divmod(len(parts), len(replies))
    first = FACTS_FROM_V1 if length == V1_TOKENS else FACTS_FROM_V2
    columns = tuple(parts[first + place :: length] for place in (DELIVERED, SEQUENCE, TIMESTAMP))
    is_alike = rest == 0 and length in KNOWN_LENGTHS and all(b"".join(column).isdigit() for column in columns)
    if not (is_alike and all(parts[place::length] == [name] * len(replies) for place, name in PREFIX)):
        return None
    delivered, sequences, timestamps = (list(map(int, column)) for column in columns)
    return delivered, sequences, timestamps


def _facts_of_any(replies: list[bytes]) -> tuple[list[int], list[int], list[int]]:
    tokens = [parse_token(reply) for reply in replies]
    return (
        [token.delivered for token in tokens],
        [token.stream_sequence for token in tokens],
        [token.timestamp_ns for token in tokens],
    )


def _texts(raw: list[bytes]) -> pa.Array:
    try:
        return pa.array(raw, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:  # a subject that is not UTF-8, which servers do not refuse
        return pa.array([each.decode(errors="replace") for each in raw], pa.string())


def _header_column(headers: dict[int, bytes], count: int) -> pa.Array:
    kind = COLUMNS.field("headers").type
    if not headers:
        return pa.nulls(count, kind)
    return pa.array([_header_map(headers[row]) if row in headers else None for row in range(count)], kind)


def _header_map(raw: bytes) -> list[tuple[str, list[str]]]:
    headers = Headers(raw)
    try:
        return [(_clean(name), [_clean(value) for value in headers.all(name)]) for name in headers]
    except ProtocolError as problem:
        logger.warning("A message's headers cannot be read, and are handed on as none: %s", problem)
        return []


def _clean(text: str) -> str:
    """Replace what is not UTF-8: a DataFrame's texts are."""
    return text if text.isascii() else text.encode(errors="surrogateescape").decode(errors="replace")


def _chained(parts: Iterable[list[T]]) -> list[T]:
    return list(chain.from_iterable(parts))
