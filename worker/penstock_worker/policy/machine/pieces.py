"""Where messages are: rows of blocks, which the shell keeps and the machine only names.

A block is what the shell took off its lane in one go, under a number of its own. A piece is some rows of one block that
stand side by side; a batch is a few pieces. Knows numbers only. Does not know what a message says.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from penstock_worker.policy.ranges import ranges_of

Row = tuple[int, int]
"""A block's number, and a row of it."""


@dataclass(frozen=True, slots=True, order=True)
class Piece:
    """The rows of a block from `start` up to, but without, `stop`."""

    block: int
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


Pieces = tuple[Piece, ...]


def count(pieces: Iterable[Piece]) -> int:
    return sum(map(len, pieces))


def pieces_of(block: int, rows: Iterable[int]) -> Pieces:
    """Return rows of a block as pieces in the same order."""
    return tuple(Piece(block, first, last + 1) for first, last in ranges_of(rows))


def rows_as_pieces(rows: Iterable[Row]) -> Pieces:
    """Return single rows as pieces in the same order."""
    pieces: list[Piece] = []
    for block, some in groupby(rows, key=itemgetter(0)):
        pieces += pieces_of(block, (row for _, row in some))
    return tuple(pieces)


def without(pieces: Iterable[Piece], rows: Collection[Row]) -> Pieces:
    """Return pieces without some of their rows."""
    blocks = {block for block, _ in rows}
    kept: list[Piece] = []
    for piece in pieces:
        if piece.block in blocks:
            kept += pieces_of(
                piece.block, (row for row in range(piece.start, piece.stop) if (piece.block, row) not in rows)
            )
        else:
            kept.append(piece)
    return tuple(kept)
