"""The blocks that are held: what stands in their rows, and which rows still wait for their final answer.

Knows sequences and sizes, and how to look up and sum over them by the block and not by the message, as far as messages
stand in a row. Does not know batches.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from penstock_worker.policy.machine.pieces import Piece, Pieces, Row, count
from penstock_worker.policy.ranges import Range, nth, ranges_of


@dataclass(slots=True)
class Block:
    """One block, as the shell told it."""

    sequences: Sequence[int]
    """They rise."""
    stored_at: Sequence[int]
    offsets: Sequence[int]
    arrived_at: float
    unanswered: int = field(init=False)
    is_answered: bytearray = field(init=False)
    """1 for each row that has its final answer."""

    def __post_init__(self) -> None:
        self.unanswered = len(self.sequences)
        self.is_answered = bytearray(len(self.sequences))


class Blocks:
    """All of them."""

    def __init__(self) -> None:
        self._blocks: dict[int, Block] = {}
        self.messages = 0
        """How many are held."""
        self.bytes = 0

    def add(self, number: int, block: Block) -> None:
        self._blocks[number] = block
        self.messages += block.unanswered
        self.bytes += block.offsets[-1]

    def answered(self, pieces: Iterable[Piece]) -> None:
        """Forget rows that have their final answer, and blocks of which nothing is left."""
        for piece in pieces:
            block, rows = self._blocks[piece.block], piece.stop - piece.start
            self.messages -= rows
            self.bytes -= block.offsets[piece.stop] - block.offsets[piece.start]
            block.unanswered -= rows
            block.is_answered[piece.start : piece.stop] = b"\x01" * rows
            if not block.unanswered:
                del self._blocks[piece.block]

    def bytes_of(self, piece: Piece) -> int:
        offsets = self._blocks[piece.block].offsets
        return offsets[piece.stop] - offsets[piece.start]

    def arrived_at(self, piece: Piece) -> float:
        return self._blocks[piece.block].arrived_at

    def sequences(self, piece: Piece) -> Sequence[int]:
        return self._blocks[piece.block].sequences[piece.start : piece.stop]

    def stored_at(self, row: Row) -> int:
        return self._blocks[row[0]].stored_at[row[1]]

    def times(self, piece: Piece) -> Sequence[int]:
        """Return when the stream took each message of a piece."""
        return self._blocks[piece.block].stored_at[piece.start : piece.stop]

    def newest(self, pieces: Pieces) -> int:
        """Return the latest time at which the stream took a message of pieces."""
        return max(max(self.times(piece)) for piece in pieces)

    def oldest(self, pieces: Pieces) -> int:
        """Return the earliest time at which the stream took a message of pieces."""
        return min(min(self.times(piece)) for piece in pieces)

    def rows_within(self, piece: Piece, messages: int, size_bytes: int) -> int:
        """Return how many rows of the piece, from its start, are within both limits."""
        offsets = self._blocks[piece.block].offsets
        by_bytes = bisect_right(offsets, offsets[piece.start] + size_bytes) - 1 - piece.start
        return max(0, min(len(piece), messages, by_bytes))

    def ranges(self, pieces: Pieces) -> tuple[Range, ...]:
        """Return the sequences of pieces. Where these rise from one to the next, those without gaps are not read."""
        ranges: list[Range] = []
        for piece in pieces:
            sequences = self._blocks[piece.block].sequences
            first, last = sequences[piece.start], sequences[piece.stop - 1]
            if ranges and ranges[-1][1] >= first:
                return ranges_of(sorted(chain.from_iterable(map(self.sequences, pieces))))
            if last - first + 1 == piece.stop - piece.start:
                more: tuple[Range, ...] = ((first, last),)
            else:
                more = ranges_of(sequences[piece.start : piece.stop])
            if ranges and ranges[-1][1] + 1 == first:
                ranges[-1] = (ranges[-1][0], more[0][1])
                more = more[1:]
            ranges += more
        return tuple(ranges)

    def halves(self, pieces: Pieces) -> tuple[Pieces, Pieces]:
        """Return the messages with the lower sequences, and the others: the same halves in whatever order they came."""
        middle = nth(self.ranges(pieces), count(pieces) // 2)
        lower: list[Piece] = []
        upper: list[Piece] = []
        for piece in pieces:
            at = bisect_left(self._blocks[piece.block].sequences, middle, piece.start, piece.stop)
            if at > piece.start:
                lower.append(Piece(piece.block, piece.start, at))
            if at < piece.stop:
                upper.append(Piece(piece.block, at, piece.stop))
        return tuple(lower), tuple(upper)

    def find(self, pieces: Iterable[Piece], wanted: Collection[int]) -> dict[int, Row]:
        """Return the rows of pieces that have a wanted sequence and no final answer, by the sequence."""
        found: dict[int, Row] = {}
        first, last = min(wanted, default=0), max(wanted, default=-1)
        for piece in pieces:
            block = self._blocks[piece.block]
            sequences = block.sequences
            start = bisect_left(sequences, first, piece.start, piece.stop)
            for row in range(start, bisect_right(sequences, last, start, piece.stop)):
                if sequences[row] in wanted and not block.is_answered[row]:
                    found[sequences[row]] = piece.block, row
        return found

    def held(self, wanted: Collection[int]) -> dict[int, Row]:
        """Return where messages of these sequences are held."""
        first, last = min(wanted), max(wanted)
        return self.find(
            (
                Piece(number, 0, len(block.sequences))
                for number, block in self._blocks.items()
                if block.sequences[0] <= last and first <= block.sequences[-1]
            ),
            wanted,
        )
