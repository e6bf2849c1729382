"""Recalling batches: redelivered messages that once formed a batch form it again, under the same id.

What formed a batch is remembered for those that this engine gave back, and read in the ledger for those of engines that
are gone. A recalled batch waits until all its messages have come again. If some do not (another worker got them, or
somebody deleted them), then after a while the others go on as a batch of a new name, and the old entry is deleted:

    all came again        adopted: the same id, the same messages
    committed             acknowledged as they come, no run
    some did not come     replaced: those that did come form a batch of their own

Knows entries and rows. Does not know what runs, nor what the ledger is kept in.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from penstock_worker.policy.ledger import Entry
from penstock_worker.policy.machine.blocks import Row
from penstock_worker.policy.machine.pieces import Piece, Pieces

PATIENCE_ACK_WAITS = 1.5
"""After the last of its messages that came: they all lapsed with one worker, within one ack wait."""


@dataclass(slots=True)
class Recalled:
    """A batch of which some messages came again."""

    entry: Entry
    runs: int
    """That it had under this engine."""
    rows: dict[int, Row] = field(default_factory=dict)
    last_at: float = 0

    @property
    def is_whole(self) -> bool:
        return len(self.rows) == self.entry.count


class Recall:
    """What is known of former batches, and what of them came again."""

    def __init__(self, *, uses_ledger: bool, patience_seconds: float) -> None:
        self.uses_ledger = uses_ledger
        self._patience_seconds = patience_seconds * PATIENCE_ACK_WAITS
        self.unsorted: Pieces = ()
        """Redelivered messages for which the ledger is being read."""
        self.is_asked = False
        self.has_read = not uses_ledger
        """Whether former batches are known; before that nothing is pulled."""
        self.failures = 0
        self.ask_at = 0.0
        self.read: dict[str, Entry] = {}
        """Of other engines."""
        self.remembered: dict[str, tuple[Entry, int]] = {}
        """Our own, and how often each ran."""
        self.recalled: dict[str, Recalled] = {}

    def remember(self, entry: Entry, runs: int) -> None:
        self.remembered[entry.batch_id] = entry, runs

    def learn(self, entries: tuple[Entry, ...], live: set[str]) -> None:
        """Take what the ledger says. Of a batch that was open when its engine went nobody knows whether it lost it."""
        known = live | self.remembered.keys()
        self.read = {entry.batch_id: entry.after_a_loss() for entry in entries if entry.batch_id not in known}

    def find(self, sequence: int, stored_at: int) -> tuple[Entry, int] | None:
        """Return the batch that a message belonged to, with its runs under this engine."""
        for entry, runs in self.remembered.values():
            if entry.holds(sequence, stored_at):
                return entry, runs
        for entry in self.read.values():
            if entry.holds(sequence, stored_at):
                return entry, 0
        return None

    def forget(self, batch_id: str) -> None:
        self.remembered.pop(batch_id, None)
        self.read.pop(batch_id, None)

    def add(self, entry: Entry, runs: int, sequence: int, row: Row, now: float) -> None:
        recalled = self.recalled.setdefault(entry.batch_id, Recalled(entry, runs))
        recalled.rows[sequence] = row
        recalled.last_at = now

    def drop(self, sequences: Collection[int]) -> list[Row]:
        """Take these messages out, as far as they are here."""
        dropped: list[Row] = []
        for name, recalled in list(self.recalled.items()):
            dropped += [recalled.rows.pop(sequence) for sequence in sequences if sequence in recalled.rows]
            if not recalled.rows:
                del self.recalled[name]
        return dropped

    def take(self, now: float) -> Iterator[Recalled]:
        """Take those that are whole, or were waited for long enough."""
        for name, recalled in list(self.recalled.items()):
            if recalled.is_whole or recalled.last_at + self._patience_seconds <= now:
                del self.recalled[name]
                self.forget(name)
                yield recalled

    def due(self) -> Iterator[float]:
        for recalled in self.recalled.values():
            yield recalled.last_at + self._patience_seconds

    def over(self, ack_floor: int) -> tuple[str, ...]:
        """Return the batches all of whose messages have been acknowledged, by whomever."""
        entries = [*self.read.values(), *(entry for entry, _ in self.remembered.values())]
        return tuple(entry.batch_id for entry in entries if entry.ranges[-1][1] <= ack_floor)

    def pieces(self) -> Pieces:
        rows = (row for recalled in self.recalled.values() for row in recalled.rows.values())
        return (*self.unsorted, *(Piece(block, row, row + 1) for block, row in rows))

    def take_all(self) -> Pieces:
        pieces = self.pieces()
        self.unsorted = ()
        self.recalled.clear()
        return pieces
