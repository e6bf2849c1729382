"""The machine's books: what is held, who has it, what is under way, and what became of all that ever arrived.

Knows how a thing is written down, and the sum that must be right: every message is waiting, recalled, in a batch, or
finally answered. Does not know what follows from anything.
"""

from dataclasses import dataclass

from penstock_worker.policy.identity import batch_id
from penstock_worker.policy.ledger import most_bytes
from penstock_worker.policy.machine import actions
from penstock_worker.policy.machine.actions import Action, Note
from penstock_worker.policy.machine.batch import Batch, Root, Stage
from penstock_worker.policy.machine.blocks import Blocks
from penstock_worker.policy.machine.circuit import Circuit
from penstock_worker.policy.machine.pace import Pace
from penstock_worker.policy.machine.pieces import Piece, Pieces, count
from penstock_worker.policy.machine.recall import Recall
from penstock_worker.policy.machine.waiting import Waiting
from penstock_worker.policy.ranges import Range
from penstock_worker.policy.settings import EngineSettings
from penstock_worker.policy.trouble import Trouble


@dataclass(slots=True)
class Tally:
    """How many messages ever arrived, and what became of them."""

    arrived: int = 0
    acked: int = 0
    dead_lettered: int = 0
    given_back: int = 0
    repeated: int = 0
    """Settled before, and come once more."""
    superseded: int = 0
    """Delivered again while they were held."""

    @property
    def answered(self) -> int:
        return self.acked + self.dead_lettered + self.given_back + self.repeated + self.superseded


@dataclass(slots=True)
class Ending:
    """That the machine ends, and how."""

    code: int
    sentence: str
    cancel_at: float
    until: float
    trouble: Trouble = Trouble.NONE


@dataclass(slots=True)
class Driver:
    """What is known of it."""

    is_ready: bool = False
    is_ending: bool = False
    """It has said that it begins nothing more; so it is until another is ready."""
    cancel_at: float = 0
    """When what it still runs is cancelled, if it is ending."""
    is_awaited: bool = False
    away_since: float = 0
    """While it is not ready."""


class Books:
    """All that the machine remembers, and the actions of the event that it is at."""

    def __init__(self, settings: EngineSettings, ack_wait_seconds: float, *, life: str, entry_bytes: int) -> None:
        self.settings = settings
        self.life = life
        """When stream and consumer were created, which is a part of what batches are named by."""
        self.entry_bytes = entry_bytes
        """How large an entry of the ledger may be."""
        self.ack_wait_seconds = ack_wait_seconds
        self.blocks = Blocks()
        self.fresh = Waiting(self.blocks)
        self.redelivered = Waiting(self.blocks)
        self.recall = Recall(uses_ledger=settings.ledger, ack_wait_seconds=ack_wait_seconds)
        self.pace = Pace()
        self.batches: dict[str, Batch] = {}
        self.circuit = Circuit(settings.retry)
        self.driver = Driver()
        self.tally = Tally()
        self.ending: Ending | None = None
        self.has_ended = False
        self.is_paused = False
        self.is_draining = False
        self.is_retired = False
        self.link_is_up = True
        self.highest = 0
        self.bad_in_a_row = 0
        """Messages condemned since a run last went well."""
        self.out: list[Action] = []

    @property
    def is_leaving(self) -> bool:
        """Whether nothing more is begun here at present, and others are to have what is collected."""
        return self.is_retired or self.driver.is_ending

    # Batches

    def fitting(self, pieces: Pieces, ancestors: tuple[str, ...] = ()) -> tuple[tuple[Pieces, tuple[Range, ...]], ...]:
        """Return the pieces, with their ranges, of one batch, or of several if the ledger takes no entry that large."""
        ranges, messages = self.blocks.ranges(pieces), count(pieces)
        if self.settings.ledger and messages > 1 and most_bytes(ranges, messages, len(ancestors)) > self.entry_bytes:
            return tuple(part for half in self.blocks.halves(pieces) for part in self.fitting(half, ancestors))
        return ((pieces, ranges),)

    def open(
        self,
        pieces: Pieces,
        now: float,
        *,
        redelivered: bool,
        root: Root | None = None,
        ranges: tuple[Range, ...] = (),
        name: str = "",
    ) -> Batch:
        """Open a batch; one of former times keeps the name that it had."""
        ranges = ranges or self.blocks.ranges(pieces)
        newest = self.blocks.newest(pieces)
        name = name or self.name_of(ranges, newest)
        size_bytes = sum(map(self.blocks.bytes_of, pieces))
        messages = count(pieces)
        root = root or Root(messages)
        oldest = self.blocks.oldest(pieces)
        batch = Batch(name, pieces, ranges, oldest, newest, messages, size_bytes, redelivered, root, due=now)
        if not self.settings.ledger:
            batch.stage = Stage.READY
        self.batches[name] = batch
        batch.root.undecided.add(name)
        self.report(Note.OPENED, batch)
        return batch

    def name_of(self, ranges: tuple[Range, ...], newest: int) -> str:
        return batch_id(self.settings.stream, self.settings.consumer, ranges, newest=newest, life=self.life)

    def shrink(self, batch: Batch, pieces: Pieces) -> None:
        """Leave a batch these of its messages, and its name."""
        batch.pieces, batch.ranges, batch.count = pieces, self.blocks.ranges(pieces), count(pieces)
        batch.bytes = sum(map(self.blocks.bytes_of, pieces))

    def running(self) -> list[Batch]:
        return [batch for batch in self.batches.values() if batch.stage is Stage.RUNNING]

    # Final answers

    def give_back(self, pieces: Pieces, delay_seconds: float = 0) -> None:
        if pieces:
            self.out.append(actions.GiveBack(pieces, delay_seconds))
            self.tally.given_back += count(pieces)
            self.blocks.answered(pieces)

    def give_back_batch(self, batch: Batch, delay_seconds: float = 0) -> None:
        """Give a batch back. It keeps its name, should its messages come here again."""
        self.report(Note.GIVEN_BACK, batch, seconds=delay_seconds)
        self.forget_run(batch)
        self.give_back(batch.pieces, delay_seconds)
        self.recall.remember(batch.entry(self.settings.worker), batch.runs)
        self.remove(batch)

    def acknowledge(self, pieces: Pieces) -> None:
        if pieces:
            self.out.append(actions.Acknowledge(pieces))
            self.tally.repeated += count(pieces)
            self.blocks.answered(pieces)

    def let_go(self, pieces: Pieces) -> None:
        if pieces:
            self.out.append(actions.LetGo(pieces))
            self.tally.superseded += count(pieces)
            self.blocks.answered(pieces)

    def give_up_asking(self, batch: Batch) -> None:
        """Have done with a batch whose answers were sent, and will not be confirmed."""
        self.tally.superseded += batch.count
        self.blocks.answered(batch.pieces)
        self.remove(batch)

    def remove(self, batch: Batch) -> None:
        del self.batches[batch.id]
        batch.root.undecided.discard(batch.id)
        if batch in batch.root.condemned:
            batch.root.condemned.remove(batch)

    def forget_run(self, batch: Batch) -> None:
        if batch.runs:
            self.out.append(actions.ForgetRun(batch.id, batch.runs))

    # Telling

    def report(self, note: Note, batch: Batch | None = None, *, seconds: float = 0, detail: str = "") -> None:
        name, messages = (batch.id, batch.count) if batch else ("", 0)
        self.out.append(actions.Report(note=note, batch_id=name, messages=messages, seconds=seconds, detail=detail))

    # The sum

    def unsettled_pieces(self) -> list[Piece]:
        """Return the rows whose leases are needed: those of which the server was not told anything final yet."""
        batches = (batch for batch in self.batches.values() if batch.stage is not Stage.SETTLING)
        waiting = (*self.fresh.pieces, *self.redelivered.pieces, *self.recall.pieces())
        return [*waiting, *(piece for batch in batches for piece in batch.pieces)]

    def held_pieces(self) -> list[Piece]:
        """Return all rows without a final answer, each once, wherever they are."""
        return [
            *self.fresh.pieces,
            *self.redelivered.pieces,
            *self.recall.pieces(),
            *(piece for batch in self.batches.values() for piece in batch.pieces),
        ]

    def imbalance(self) -> str:
        """Return what is wrong with the sum of all messages; nothing may ever be."""
        held = count(self.held_pieces())
        if held != self.blocks.messages:
            return f"{self.blocks.messages} messages have no answer, but {held} are held somewhere"
        if held + self.tally.answered != self.tally.arrived:
            return f"{self.tally.arrived} arrived, {self.tally.answered} are answered, {held} are held"
        return ""
