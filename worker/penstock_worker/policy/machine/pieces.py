"""Where messages are: rows of blocks, which the shell keeps and the machine only names.

A block is what the shell took off its lane in one go, under a number of its own. A piece is some rows of one block that
stand side by side; a batch is a few pieces. Knows numbers only. Does not know what a message says.
"""

from collections.abc import Iterable
from dataclasses import dataclass


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


def rows_as_pieces(rows: Iterable[tuple[int, int]]) -> Pieces:
    """Return single rows, each as (block, row), as pieces in the same order."""
    pieces: list[Piece] = []
    for block, row in rows:
        last = pieces[-1] if pieces else None
        if last is not None and last.block == block and last.stop == row:
            pieces[-1] = Piece(block, last.start, row + 1)
        else:
            pieces.append(Piece(block, row, row + 1))
    return tuple(pieces)


def cut(pieces: Pieces, rows: int) -> tuple[Pieces, Pieces]:
    """Return the first so many rows, and the others."""
    first: list[Piece] = []
    rest: list[Piece] = []
    for piece in pieces:
        middle = min(piece.start + max(rows, 0), piece.stop)
        if middle > piece.start:
            first.append(Piece(piece.block, piece.start, middle))
        if middle < piece.stop:
            rest.append(Piece(piece.block, middle, piece.stop))
        rows -= len(piece)
    return tuple(first), tuple(rest)
