"""Messages that wait to become a batch, in the order of their coming: fresh ones, or redelivered ones.

Knows how much is there and since when, and how to take off what a batch may have. Does not know when to.
"""

from collections import deque

from penstock_worker.policy.machine.blocks import Blocks
from penstock_worker.policy.machine.pieces import Piece, Pieces


class Waiting:
    """A queue of pieces."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._pieces: deque[Piece] = deque()
        self.messages = 0
        self.bytes = 0

    def __bool__(self) -> bool:
        return bool(self._pieces)

    @property
    def pieces(self) -> Pieces:
        return tuple(self._pieces)

    @property
    def since(self) -> float:
        """Return when the first of them came."""
        return self._blocks.arrived_at(self._pieces[0])

    def add(self, pieces: Pieces) -> None:
        for piece in pieces:
            self._pieces.append(piece)
            self.messages += len(piece)
            self.bytes += self._blocks.bytes_of(piece)

    def take_all(self) -> Pieces:
        pieces = self.pieces
        self._pieces.clear()
        self.messages = self.bytes = 0
        return pieces

    def take(self, messages: int, size_bytes: int) -> Pieces:
        """Take what is within both limits, and one message in any case."""
        taken: list[Piece] = []
        while self._pieces and messages > 0:
            piece = self._pieces[0]
            rows = self._blocks.rows_within(piece, messages, size_bytes) or (0 if taken else 1)
            if not rows:
                break
            part = self._take_rows(piece, rows)
            taken.append(part)
            messages -= rows
            size_bytes -= self._blocks.bytes_of(part)
            if rows < len(piece):
                break
        return tuple(taken)

    def _take_rows(self, piece: Piece, rows: int) -> Piece:
        part = Piece(piece.block, piece.start, piece.start + rows)
        self._pieces.popleft()
        if rows < len(piece):
            self._pieces.appendleft(Piece(piece.block, part.stop, piece.stop))
        self.messages -= rows
        self.bytes -= self._blocks.bytes_of(part)
        return part
