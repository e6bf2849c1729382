"""Recalling batches: redelivered messages that once formed a batch form it again, under the same id.

What formed a batch is remembered for those that this engine gave back, and read in the ledger for those of engines that
are gone. A recalled batch waits until all its messages have come again. If some do not (another worker got them, or
somebody deleted them), then after a while the others go on as a batch of a new name, and the old entry is deleted:

    all came again        adopted: the same id, the same messages
    not the first one     given back, for a while: of several workers, the one that has the first gathers the others
    committed             acknowledged as they come, no run
    some did not come     replaced: those that did come form a batch of their own

Knows entries and rows. Does not know what runs, nor what the ledger is kept in.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from penstock_worker.policy.ledger import Entry
from penstock_worker.policy.machine.blocks import Row
from penstock_worker.policy.machine.pieces import Piece, Pieces, rows_as_pieces

PATIENCE_ACK_WAITS = 1.5
"""After the last of its messages that came: they all lapsed with one worker, within one ack wait."""
FIRST_PASSING_SECONDS = 2.0
"""After the last of its messages that came: the first one may be among those that come next."""
NEXT_PASSING_SECONDS = 0.1
"""The same when they come here once more, twice as long each time: whom they are given to is chance."""
DOUBLINGS_MAX = 10
PASSINGS_PER_PATIENCE = 12
PASSING_PATIENCES = 2
"""So long it is tried to have a batch come together with another worker."""


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

    @property
    def gathers(self) -> bool:
        """Tell whether the others are to come here: of several workers, to who has the first message."""
        return self.entry.ranges[0][0] in self.rows


@dataclass(slots=True)
class Passing:
    """That what came of a batch is passed on to other workers."""

    since: float
    times: int = 0


class Recall:
    """What is known of former batches, and what of them came again."""

    def __init__(self, *, uses_ledger: bool, passes_on: bool, patience_seconds: float) -> None:
        self.uses_ledger = uses_ledger
        self.passes_on = uses_ledger and passes_on
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
        self.passed_on: dict[str, Passing] = {}
        """By batches whose first message is not here."""

    @property
    def is_expecting(self) -> bool:
        """Whether something came again of which there may be more."""
        return bool(self.unsorted or self.recalled)

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
        self.passed_on.pop(batch_id, None)

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
            if recalled.is_whole or self._expires_at(recalled) <= now:
                del self.recalled[name]
                self.forget(name)
                yield recalled

    def pass_on(self, now: float) -> Iterator[Pieces]:
        """Take what is to be given back, as another worker has the first message of its batch; for a while."""
        for name, recalled in list(self.recalled.items()):
            if self._is_for_others(recalled, now) and self._passes_at(recalled) <= now:
                passing = self.passed_on.setdefault(name, Passing(now))
                passing.times += 1
                del self.recalled[name]
                yield rows_as_pieces(sorted(recalled.rows.values()))

    def _is_for_others(self, recalled: Recalled, now: float) -> bool:
        if not self.passes_on or recalled.is_whole or recalled.gathers:
            return False
        passing = self.passed_on.get(recalled.entry.batch_id)
        return passing is None or now < passing.since + PASSING_PATIENCES * self._patience_seconds

    def _expires_at(self, recalled: Recalled) -> float:
        """Return when no more of it is waited for; where others pass on what they get of it, that may be more."""
        waits_for_others = self.passes_on and recalled.gathers
        return recalled.last_at + self._patience_seconds * (PASSING_PATIENCES if waits_for_others else 1)

    def _passes_at(self, recalled: Recalled) -> float:
        passing = self.passed_on.get(recalled.entry.batch_id)
        if passing is None:
            return recalled.last_at + FIRST_PASSING_SECONDS
        pause_seconds: float = NEXT_PASSING_SECONDS * 2 ** min(passing.times, DOUBLINGS_MAX)
        return recalled.last_at + min(pause_seconds, self._patience_seconds / PASSINGS_PER_PATIENCE)

    def due(self) -> Iterator[float]:
        for recalled in self.recalled.values():
            yield self._passes_at(recalled)
            yield self._expires_at(recalled)

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
