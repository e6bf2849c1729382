"""The messages that the engine holds: blocks by number, each kept until the last of its rows has its final answer.

Knows which rows a piece means. Does not know batches, nor when an answer is final: the machine says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from penstock_worker.engine.rows import Rows, joined
from penstock_worker.policy.machine.events import Arrived
from penstock_worker.policy.machine.pieces import Piece


@dataclass(slots=True)
class _Block:
    rows: Rows
    offsets: list[int]
    """How large the rows are, summed up."""
    answered: bytearray
    """1 for each row that has its final answer."""

    def unanswered(self, piece: Piece) -> int:
        return self.answered.count(0, piece.start, piece.stop)

    def answer(self, piece: Piece) -> int:
        """Note that rows have their final answer, and return how large those are that had none."""
        offsets = self.offsets
        if self.unanswered(piece) == len(piece):
            size_bytes = offsets[piece.stop] - offsets[piece.start]
        else:
            rows = (row for row in range(piece.start, piece.stop) if not self.answered[row])
            size_bytes = sum(offsets[row + 1] - offsets[row] for row in rows)
        self.answered[piece.start : piece.stop] = b"\x01" * len(piece)
        return size_bytes


class Shelf:
    """Blocks come and go; pieces are looked up."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._last = 0

    @property
    def messages(self) -> int:
        """How many are held, answered ones included whose block is still needed."""
        return sum(len(block.rows) for block in self._blocks.values())

    @property
    def unanswered(self) -> int:
        """How many have no final answer yet."""
        return sum(block.answered.count(0) for block in self._blocks.values())

    def put(self, rows: Rows) -> list[Arrived]:
        """Keep messages, fresh and redelivered ones apart, and return what the machine is to be told."""
        if not rows.has_redelivered:
            return [self._keep(rows, redelivered=False)]
        fresh = [row for row, delivered in enumerate(rows.delivered) if delivered <= 1]
        again = _each_once(rows)
        return [
            *([self._keep(rows.picked(fresh), redelivered=False)] if fresh else []),
            *(self._keep(rows.picked(some), redelivered=True) for some in again),
        ]

    def _keep(self, rows: Rows, *, redelivered: bool) -> Arrived:
        self._last += 1
        offsets = list(accumulate(rows.sizes(), initial=0))
        self._blocks[self._last] = _Block(rows, offsets, bytearray(len(rows)))
        return Arrived(
            block=self._last,
            sequences=rows.sequences,
            stored_at=rows.timestamps_ns,
            offsets=offsets,
            redelivered=redelivered,
        )

    def rows(self, pieces: Iterable[Piece]) -> Rows:
        """Return the messages of pieces, in their order."""
        return joined([self._blocks[piece.block].rows.part(piece.start, piece.stop) for piece in pieces])

    def replies(self, pieces: Iterable[Piece]) -> list[bytes]:
        """Return where answers to these messages go."""
        return [reply for piece in pieces for reply in self._blocks[piece.block].rows.replies[piece.start : piece.stop]]

    def answered(self, pieces: Iterable[Piece]) -> tuple[int, int]:
        """Forget messages that have their final answer, and return how many and how large those are that had none.

        A message may be let go while a settlement of it is under way, whose success answers it once more.
        """
        messages = size_bytes = 0
        for piece in pieces:
            if piece.block in self._blocks:
                messages += self._blocks[piece.block].unanswered(piece)
                size_bytes += self._blocks[piece.block].answer(piece)
                if 0 not in self._blocks[piece.block].answered:
                    del self._blocks[piece.block]
        return messages, size_bytes


def _each_once(rows: Rows) -> list[list[int]]:
    """Return the rows that came before, as groups in which no sequence comes twice: a block may have it so."""
    groups: list[list[int]] = []
    seen: list[set[int]] = []
    for row, delivered in enumerate(rows.delivered):
        if delivered > 1:
            sequence = rows.sequences[row]
            place = next((place for place, known in enumerate(seen) if sequence not in known), len(seen))
            if place == len(seen):
                groups.append([])
                seen.append(set())
            groups[place].append(row)
            seen[place].add(sequence)
    return groups
