"""The blocks that are held: what stands in their rows, and which rows still wait for their final answer.

Knows sequences and sizes, and how to look up and sum over them by the block and not by the message, as far as messages
stand in a row. Does not know batches.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from penstock_worker.policy.machine.pieces import Piece, Pieces
from penstock_worker.policy.ranges import Range, ranges_of

Row = tuple[int, int]
"""A block's number, and a row of it."""


@dataclass(slots=True)
class Block:
    """One block, as the shell told it."""

    sequences: Sequence[int]
    stored_at: Sequence[int]
    offsets: Sequence[int]
    redelivered: bool
    arrived_at: float
    unanswered: int


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
            block = self._blocks[piece.block]
            self.messages -= len(piece)
            self.bytes -= self.bytes_of(piece)
            block.unanswered -= len(piece)
            if not block.unanswered:
                del self._blocks[piece.block]

    def bytes_of(self, piece: Piece) -> int:
        offsets = self._blocks[piece.block].offsets
        return offsets[piece.stop] - offsets[piece.start]

    def arrived_at(self, piece: Piece) -> float:
        return self._blocks[piece.block].arrived_at

    def sequence(self, row: Row) -> int:
        return self._blocks[row[0]].sequences[row[1]]

    def stored_at(self, row: Row) -> int:
        return self._blocks[row[0]].stored_at[row[1]]

    def newest(self, pieces: Pieces) -> int:
        """Return when the stream took the last message of pieces that rise."""
        return self.stored_at((pieces[-1].block, pieces[-1].stop - 1))

    def rows_within(self, piece: Piece, messages: int, size_bytes: int) -> int:
        """Return how many rows of the piece, from its start, are within both limits."""
        offsets = self._blocks[piece.block].offsets
        by_bytes = bisect_right(offsets, offsets[piece.start] + size_bytes) - 1 - piece.start
        return max(0, min(len(piece), messages, by_bytes))

    def ranges(self, pieces: Iterable[Piece]) -> tuple[Range, ...]:
        """Return the sequences of pieces that rise from one to the next. Pieces without gaps are not looked into."""
        ranges: list[Range] = []
        for piece in pieces:
            for first, last in self._ranges_of(piece):
                if ranges and ranges[-1][1] + 1 == first:
                    ranges[-1] = (ranges[-1][0], last)
                else:
                    ranges.append((first, last))
        return tuple(ranges)

    def _ranges_of(self, piece: Piece) -> Iterable[Range]:
        sequences = self._blocks[piece.block].sequences
        first, last = sequences[piece.start], sequences[piece.stop - 1]
        if last - first + 1 == len(piece):
            return ((first, last),)
        return ranges_of(sequences[piece.start : piece.stop])

    def rows(self, pieces: Iterable[Piece]) -> Iterator[Row]:
        for piece in pieces:
            for row in range(piece.start, piece.stop):
                yield piece.block, row

    def find(self, pieces: Pieces, sequence: int) -> Row | None:
        """Look for a sequence among pieces that rise, each in itself."""
        for piece in pieces:
            sequences = self._blocks[piece.block].sequences
            row = bisect_left(sequences, sequence, piece.start, piece.stop)
            if row < piece.stop and sequences[row] == sequence:
                return piece.block, row
        return None
