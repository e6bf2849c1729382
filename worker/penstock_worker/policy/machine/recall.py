"""Recalling batches: redelivered messages that once formed a batch form it again, under the same id.

What formed a batch is remembered for those that this engine gave back, and read in the ledger for those of engines that
are gone. A recalled batch waits until all its messages have come again. If some do not (another worker got them, or
somebody deleted them), then after a while the others go on as a batch of a new name, which the old entry names as a
part (cutting.py):

    all came again        adopted: the same id, the same messages
    not the first one     given back, for a while: of several workers, the one that has the first gathers the others
    committed             acknowledged as they come, no run; so are those of a batch that another worker commits later
    some did not come     replaced: those that did come form a batch of their own, which names the former one as an
                          ancestor: sinks may have that
    cut already           the same at once, as what did not come is in other parts
    acknowledged by now   let go: another worker has settled it

Redelivered messages wait for a reading of the ledger that begins after they came: whoever had them before has written
down their batch by then. What was read is matched against them in steps that a busy event loop can take.

A batch that is settled stays in the ledger, as committed, until the server has had all its messages as acknowledged for
a while: a server that is killed forgets its newest answers, and a cluster may confirm the last answer and miss others.

Knows entries and rows. Does not know what runs, nor what the ledger is kept in.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock_worker.policy.ledger import Entry
from penstock_worker.policy.machine.delays import before_asking_again
from penstock_worker.policy.machine.pieces import Piece, Pieces, count

PATIENCE_ACK_WAITS = 1.5
"""After the last of its messages that came: they all lapsed with one worker, within one ack wait. Time in which this
engine pulls nothing does not count."""
FIRST_PASSING_SECONDS = 2.0
"""After the last of its messages that came: the first one may be among those that come next."""
NEXT_PASSING_SECONDS = 0.1
"""The same when they come here once more, twice as long each time: whom they are given to is chance."""
DOUBLINGS_MAX = 10
PASSINGS_PER_PATIENCE = 12
KEPT_ACK_WAITS = 2
"""How long the ack floor has to be behind a batch before the batch is forgotten."""
SETTLED_MAX = 10_000
"""Batches that one engine remembers as settled, should the ack floor stay where it is."""
PASSING_PATIENCES = 2
"""So long it is tried to have a batch come together with another worker."""
READING_PAUSE = 3
"""After a reading of the ledger, in times that it took: what many workers read together, a server has to send."""


@dataclass(slots=True)
class Recalled:
    """A batch of which some messages came again."""

    entry: Entry
    runs: int
    """That it had under this engine."""
    missing: int
    """How many of its messages are not here."""
    pieces: list[Piece] = field(default_factory=list)
    is_refused: bool = False
    """Whether a sink has refused all of it together."""
    gathers: bool = False
    """Whether the others are to come here: of several workers, to who has the first message."""
    last_at: float = 0

    @property
    def is_whole(self) -> bool:
        return not self.missing

    @property
    def is_to_be_cut(self) -> bool:
        """Whether parts of it exist already, so that nothing is won by waiting for the rest."""
        return bool(self.entry.parts) or (self.is_refused and self.entry.count > 1)


@dataclass(slots=True)
class Passing:
    """That what came of a batch is passed on to other workers."""

    since: float
    times: int = 0


class Recall:
    """What is known of former batches, and what of them came again."""

    def __init__(self, *, uses_ledger: bool, ack_wait_seconds: float) -> None:
        self.uses_ledger = uses_ledger
        self._patience_seconds = ack_wait_seconds * PATIENCE_ACK_WAITS
        self._kept_seconds = ack_wait_seconds * KEPT_ACK_WAITS
        self._look_again_seconds = ack_wait_seconds
        self.unread: list[Piece] = []
        """Redelivered messages for which the ledger is to be read."""
        self.reading: list[Piece] = []
        """Those for which it is being read."""
        self.unsorted: deque[Piece] = deque()
        """Those for which it has been read."""
        self.step_at = 0.0
        """Not before this is any of that looked up, or made a batch again."""
        self.is_asked = False
        self.asked_at = 0.0
        """When the ledger was last asked for."""
        self.has_read = not uses_ledger
        """Whether former batches are known; before that nothing is pulled."""
        self.failures = 0
        self.ask_at = 0.0
        """When to read the ledger at the earliest, after failures."""
        self.quiet_until = 0.0
        """Until then other workers may write entries about messages that come here."""
        self.read: dict[str, Entry] = {}
        """Of other engines."""
        self.remembered: dict[str, tuple[Entry, int]] = {}
        """Our own, and how often each ran."""
        self.settled: dict[str, Entry] = {}
        """Our own, the oldest first."""
        self.pulls_since = 0.0
        """Infinite while messages of recalled batches cannot come."""
        self._passed: dict[str, float] = {}
        """Since when the ack floor has been behind a batch."""
        self.refused: set[str] = set()
        """Batches that another worker has cut, as the ledger or a sink said."""
        self.recalled: dict[str, Recalled] = {}
        self.passed_on: dict[str, Passing] = {}
        """By batches whose first message is not here."""

    @property
    def is_expecting(self) -> bool:
        """Whether something came again of which there may be more."""
        return bool(self.unread or self.reading or self.unsorted or self.recalled)

    def add_unread(self, pieces: Pieces) -> None:
        """Have messages wait for a reading that begins from now on."""
        (self.unread if self.uses_ledger else self.unsorted).extend(pieces)

    def ask(self, now: float) -> None:
        self.is_asked, self.asked_at = True, now
        self.reading += self.unread
        self.unread.clear()

    def failed(self, now: float, chance: float, *, counts: bool) -> None:
        """Ask again later, for all that came. What fails while the link is away does not count."""
        self.is_asked = False
        self.failures += counts
        self.ask_at = now + before_asking_again(max(self.failures, 1), chance)
        self.unread[:0] = self.reading
        self.reading.clear()

    def has_been_read(self, now: float) -> None:
        self.is_asked, self.has_read, self.failures = False, True, 0
        self.ask_at = now + READING_PAUSE * (now - self.asked_at)
        self.unsorted += self.reading
        self.reading.clear()

    @property
    def size(self) -> int:
        """How many former batches are known."""
        return len(self.read) + len(self.remembered)

    @property
    def may_ask_at(self) -> float:
        return max(self.ask_at, self.quiet_until)

    def remember(self, entry: Entry, runs: int) -> None:
        self.remembered[entry.batch_id] = entry, runs

    def settle(self, entry: Entry) -> str | None:
        """Remember a batch as settled; return the batch that is forgotten for it, if there are too many."""
        self.settled[entry.batch_id] = entry
        if len(self.settled) <= SETTLED_MAX:
            return None
        oldest = next(iter(self.settled))
        del self.settled[oldest]
        return oldest

    def settled_among(self, first: int, last: int) -> list[Entry]:
        """Return settled batches that may have messages from one to another."""
        return [entry for entry in self.settled.values() if entry.spans(first, last)]

    def learn(self, entries: tuple[Entry, ...], live: set[str]) -> None:
        """Take what the ledger says. Of a batch that was open when its engine went nobody knows whether it lost it."""
        for entry in entries:
            if (entry.committed or entry.parts) and entry.batch_id in self.remembered:
                del self.remembered[entry.batch_id]
        known = live | self.remembered.keys() | self.settled.keys()
        written = {entry.batch_id for entry in entries}
        parts = (part for entry in entries for part in entry.of_parts() if part.batch_id not in written)
        found = (entry for entry in (*entries, *parts) if entry.batch_id not in known)
        self.read = {entry.batch_id: entry.after_a_loss() for entry in found}

    def take_committed(self) -> Pieces:
        """Take the messages of recalled batches that another worker has committed meanwhile."""
        return self._take([name for name in self.recalled if (entry := self.read.get(name)) and entry.committed])

    def take_settled(self, ack_floor: int) -> Pieces:
        """Take the messages of recalled batches of which the server has every message as acknowledged."""
        return self._take([name for name, one in self.recalled.items() if one.entry.ranges[-1][1] <= ack_floor])

    def _take(self, names: list[str]) -> Pieces:
        return tuple(piece for name in names for piece in self.recalled.pop(name).pieces)

    def find(self, first: int, last: int) -> list[tuple[Entry, int]]:
        """Return the batches to which messages from one to another may have belonged, with their runs here.

        Those that are over come first, and the parts of a batch that was cut come before it.
        """
        known = (*self.remembered.values(), *((entry, 0) for entry in self.read.values()))
        found = (one for one in known if one[0].spans(first, last))
        return sorted(found, key=lambda one: (not one[0].committed, -len(one[0].ancestors)))

    def forget(self, batch_id: str) -> None:
        self.remembered.pop(batch_id, None)
        self.read.pop(batch_id, None)
        self.settled.pop(batch_id, None)
        self.passed_on.pop(batch_id, None)
        self.refused.discard(batch_id)

    def add(self, entry: Entry, runs: int, pieces: Pieces, first: int, now: float) -> None:
        """Add messages of a batch, of which `first` is the first."""
        recalled = self.recalled.get(entry.batch_id)
        if recalled is None:
            is_refused = entry.batch_id in self.refused
            recalled = self.recalled[entry.batch_id] = Recalled(entry, runs, entry.count, is_refused=is_refused)
        recalled.pieces += pieces
        recalled.missing -= count(pieces)
        recalled.gathers |= first == entry.ranges[0][0]
        recalled.last_at = now

    def take(self, now: float) -> Iterator[Recalled]:
        """Take those that are whole, or were waited for long enough and are not committed meanwhile."""
        for name, recalled in list(self.recalled.items()) if self.step_at <= now else ():
            expires_at = self._expires_at(recalled)
            has_looked = not self.uses_ledger or (self.asked_at >= expires_at and not self.is_asked)
            if recalled.is_whole or (expires_at <= now and has_looked):
                del self.recalled[name]
                if recalled.is_to_be_cut:
                    self.passed_on.pop(name, None)
                else:
                    self.forget(name)
                yield recalled

    def pass_on(self, now: float) -> Iterator[Pieces]:
        """Take what is to be given back, as another worker has the first message of its batch; for a while."""
        for name, recalled in list(self.recalled.items()):
            if self._is_for_others(recalled, now) and self._passes_at(recalled) <= now:
                passing = self.passed_on.setdefault(name, Passing(now))
                passing.times += 1
                del self.recalled[name]
                yield tuple(recalled.pieces)

    def _is_for_others(self, recalled: Recalled, now: float) -> bool:
        if not self.uses_ledger or recalled.is_whole or recalled.gathers or recalled.is_to_be_cut:
            return False
        passing = self.passed_on.get(recalled.entry.batch_id)
        return passing is None or now < passing.since + PASSING_PATIENCES * self._patience_seconds

    def _expires_at(self, recalled: Recalled) -> float:
        """Return when no more of it is waited for; where others pass on what they get of it, that may be more."""
        if recalled.is_to_be_cut:
            return recalled.last_at + FIRST_PASSING_SECONDS
        waits_for_others = self.uses_ledger and recalled.gathers
        since = max(recalled.last_at, self.pulls_since)
        return since + self._patience_seconds * (PASSING_PATIENCES if waits_for_others else 1)

    def _passes_at(self, recalled: Recalled) -> float:
        passing = self.passed_on.get(recalled.entry.batch_id)
        if passing is None:
            return recalled.last_at + FIRST_PASSING_SECONDS
        pause_seconds: float = NEXT_PASSING_SECONDS * 2 ** min(passing.times, DOUBLINGS_MAX)
        return recalled.last_at + min(pause_seconds, self._patience_seconds / PASSINGS_PER_PATIENCE)

    def should_ask(self, now: float) -> bool:
        """Tell whether to read the ledger now."""
        if not self.uses_ledger or self.is_asked or now < self.may_ask_at:
            return False
        return bool(self.unread) or not self.has_read or self._should_look_again(now)

    def _should_look_again(self, now: float) -> bool:
        """Tell whether another worker may have committed a recalled batch: now and then, and before it is replaced."""
        is_stale = bool(self.recalled) and self.asked_at + self._look_again_seconds <= now
        return is_stale or any(self.asked_at < self._expires_at(recalled) <= now for recalled in self.recalled.values())

    def due(self) -> Iterator[float]:
        yield self.step_at
        yield self.may_ask_at
        if self.recalled:
            yield self.asked_at + self._look_again_seconds
        for recalled in self.recalled.values():
            yield self._passes_at(recalled)
            yield self._expires_at(recalled)

    def over(self, ack_floor: int, now: float) -> tuple[str, ...]:
        """Return the batches all of whose messages have been acknowledged for long enough, by whomever."""
        entries = [*self.read.values(), *(entry for entry, _ in self.remembered.values()), *self.settled.values()]
        behind = [entry.batch_id for entry in entries if entry.ranges[-1][1] <= ack_floor]
        self._passed = {batch_id: self._passed.get(batch_id, now) for batch_id in behind}
        return tuple(batch_id for batch_id, since in self._passed.items() if now >= since + self._kept_seconds)

    def pieces(self) -> Pieces:
        recalled = (piece for recalled in self.recalled.values() for piece in recalled.pieces)
        return (*self.unread, *self.reading, *self.unsorted, *recalled)

    def take_all(self) -> Pieces:
        pieces = self.pieces()
        for held in (self.unread, self.reading, self.unsorted, self.recalled):
            held.clear()
        return pieces
