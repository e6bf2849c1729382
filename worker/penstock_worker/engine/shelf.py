"""The messages that the engine holds: blocks by number, each kept until the last of its rows has its final answer.

Knows which rows a piece means. Does not know batches, nor when an answer is final: the machine says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, groupby
from operator import attrgetter

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
    unanswered: int

    def answer(self, piece: Piece) -> tuple[int, int]:
        """Note that rows have their final answer, and return how many and how large those are that had none."""
        offsets, length = self.offsets, piece.stop - piece.start
        count = self.answered.count(0, piece.start, piece.stop)
        if count == length:
            size_bytes = offsets[piece.stop] - offsets[piece.start]
        else:
            rows = (row for row in range(piece.start, piece.stop) if not self.answered[row])
            size_bytes = sum(offsets[row + 1] - offsets[row] for row in rows)
        self.answered[piece.start : piece.stop] = b"\x01" * length
        self.unanswered -= count
        return count, size_bytes


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
        return sum(block.unanswered for block in self._blocks.values())

    def put(self, rows: Rows) -> list[Arrived]:
        """Keep messages, fresh and redelivered ones apart, and return what the machine is to be told."""
        if not rows.has_redelivered:
            return [self._keep(rows, redelivered=False)]
        fresh = [row for row, delivered in enumerate(rows.delivered) if delivered <= 1]
        again = _rising(rows)
        return [
            *([self._keep(rows.picked(fresh), redelivered=False)] if fresh else []),
            *(self._keep(rows.picked(some), redelivered=True) for some in again),
        ]

    def _keep(self, rows: Rows, *, redelivered: bool) -> Arrived:
        self._last += 1
        offsets = list(accumulate(rows.sizes(), initial=0))
        self._blocks[self._last] = _Block(rows, offsets, bytearray(len(rows)), len(rows))
        return Arrived(
            block=self._last,
            sequences=rows.sequences,
            stored_at=rows.timestamps_ns,
            offsets=offsets,
            redelivered=redelivered,
        )

    def rows(self, pieces: Iterable[Piece]) -> Rows:
        """Return the messages of pieces, in their order."""
        parts = []
        for number, some in groupby(pieces, key=attrgetter("block")):
            first, *others = some
            rows = self._blocks[number].rows
            if others:
                parts.append(rows.picked([row for each in (first, *others) for row in range(each.start, each.stop)]))
            else:
                parts.append(rows.part(first.start, first.stop))
        return joined(parts)

    def replies(self, pieces: Iterable[Piece]) -> list[bytes]:
        """Return where answers to these messages go."""
        return [reply for piece in pieces for reply in self._blocks[piece.block].rows.replies[piece.start : piece.stop]]

    def answered(self, pieces: Iterable[Piece]) -> tuple[int, int]:
        """Forget messages that have their final answer, and return how many and how large those are that had none.

        A message may be let go while a settlement of it is under way, whose success answers it once more.
        """
        messages = size_bytes = 0
        for piece in pieces:
            block = self._blocks.get(piece.block)
            if block is not None:
                count, size = block.answer(piece)
                messages += count
                size_bytes += size
                if not block.unanswered:
                    del self._blocks[piece.block]
        return messages, size_bytes


def _rising(rows: Rows) -> list[list[int]]:
    """Return the rows that came before, as groups in which sequences rise: a block may have them in any order."""
    groups: list[list[int]] = []
    again = [row for row, delivered in enumerate(rows.delivered) if delivered > 1]
    for row in sorted(again, key=rows.sequences.__getitem__):
        sequence = rows.sequences[row]
        group = next((group for group in groups if rows.sequences[group[-1]] < sequence), None)
        if group is None:
            groups.append([row])
        else:
            group.append(row)
    return groups
