"""A machine to play with: each event is one line, and the actions that it asks for are kept until a test takes them."""

from dataclasses import replace
from itertools import accumulate, count
from typing import TypeVar

from penstock_worker.policy.ledger import Entry
from penstock_worker.policy.machine import actions, events
from penstock_worker.policy.machine.batch import Stage
from penstock_worker.policy.machine.machine import Machine
from penstock_worker.policy.outcome import Fault, Outcome, Rejection, Verdict
from penstock_worker.policy.settings import BatchSettings, EngineSettings

SETTINGS = EngineSettings(
    group="g",
    worker="w",
    stream="S",
    consumer="c",
    dead_letter_stream="D",
    dead_letter_subject="dead",
    batch=BatchSettings(max_messages=100, max_bytes=10_000),
)
ACK_WAIT_SECONDS = 30.0
TICK_SECONDS = 5.0
READ_SECONDS = 15.0
"""How often the consumer is read, while time passes: an engine that hears nothing from the server was cut off."""
FAULT = Fault("ValueError", "it does not parse")

Kind = TypeVar("Kind")


class Play:
    """A machine, its time, and what it asked for."""

    def __init__(self, settings: EngineSettings = SETTINGS, *, entry_bytes: int = 1 << 20) -> None:
        self.machine = Machine(settings, ack_wait_seconds=ACK_WAIT_SECONDS, entry_bytes=entry_bytes)
        self.now = 0.0
        self.asked: list[object] = []
        self.ledger: tuple[Entry, ...] = ()
        """The entries that the machine reads."""
        self._last_reading = events.Counted(pending=1, ack_pending=1, ack_floor=0, is_asked_for=True)
        self._read_at = 0.0
        self._blocks = count(1)

    @classmethod
    def ready(cls, *entries: Entry, ledger: bool = True, **batch: float) -> "Play":
        """Return a machine that has started: the driver is ready, and the ledger has these entries."""
        limits = replace(SETTINGS.batch, **batch)  # type: ignore[arg-type]  # each is what its field wants
        play = cls(replace(SETTINGS, ledger=ledger, batch=limits))
        play.handle(events.Started(), events.DriverReady("one"))
        play.ledger = entries
        if ledger:
            play.read_ledger()
        play.asked.clear()
        return play

    @classmethod
    def running(cls, *sequences: int, ledger: bool = False, **batch: float) -> "tuple[Play, actions.HandOver]":
        """Return a machine with a batch that runs."""
        play = cls.ready(ledger=ledger, **batch)
        play.arrive(*sequences)
        return play, play.run()

    def handle(self, *happened: events.Event) -> None:
        for event in happened:
            if isinstance(event, events.Counted):
                self._last_reading, self._read_at = event, self.now
            self.asked += self.machine.handle(event, now=self.now, chance=0.0)
            assert not self.machine.books.imbalance()

    def read_ledger(self) -> None:
        self.one(actions.ReadLedger)
        self.handle(events.LedgerRead(self.ledger))

    def redeliver(self, *sequences: int) -> int:
        """Redeliver messages, and answer what the machine then reads in the ledger; return the number of the block."""
        block = self.arrive(*sequences, redelivered=True)
        self.read_ledger()
        return block

    def wait(self, seconds: float) -> None:
        """Let time pass, with ticks and readings of the consumer, and answer what is then read in the ledger."""
        until = self.now + seconds
        while self.now < until:
            self.now = min(self.now + TICK_SECONDS, until)
            self.handle(events.Tick())
            if self.now >= self._read_at + READ_SECONDS:
                self.handle(self._last_reading)
            if self.take(actions.ReadLedger):
                self.handle(events.LedgerRead(self.ledger))

    def skip(self, seconds: float) -> None:
        """Let time pass without ticks until the end."""
        self.now += seconds
        self.handle(events.Tick())

    def arrive(self, *sequences: int, redelivered: bool = False, size: int = 10, later: int = 0) -> int:
        """Deliver a block and return its number. Messages stored `later` are others under the same sequences."""
        block = next(self._blocks)
        offsets = [0, *accumulate(size for _ in sequences)]
        self.handle(
            events.Arrived(
                block=block,
                sequences=sequences,
                stored_at=[sequence + later for sequence in sequences],
                offsets=offsets,
                redelivered=redelivered,
            )
        )
        return block

    def notes(self) -> list[actions.Note]:
        return [report.note for report in self.take(actions.Report)]

    def given_back(self) -> list[tuple[int, float]]:
        """Take what is given back: how many messages, and after which delay."""
        return [(sum(map(len, each.pieces)), each.delay_seconds) for each in self.take(actions.GiveBack)]

    @property
    def held(self) -> int:
        return self.machine.books.blocks.messages

    def end(
        self, run: actions.HandOver, verdict: Verdict, *, rejected: tuple[int, ...] = (), outgoing: int = 0
    ) -> None:
        rejections = tuple(Rejection(sequence, "no") for sequence in rejected)
        fault = None if verdict is Verdict.OK else FAULT
        outcome = Outcome(verdict, 0.1, rejections=rejections, fault=fault, outgoing=outgoing)
        self.handle(events.RunEnded(run.batch_id, run.run, outcome))

    def finish(self, run: actions.HandOver) -> None:
        """End a run well, and settle it."""
        self.end(run, Verdict.OK)
        self.settle()

    def take(self, kind: type[Kind]) -> list[Kind]:
        """Remove the actions of this kind, and return them."""
        found = [action for action in self.asked if isinstance(action, kind)]
        self.asked = [action for action in self.asked if not isinstance(action, kind)]
        return found

    def one(self, kind: type[Kind]) -> Kind:
        (found,) = self.take(kind)
        return found

    def runs(self) -> list[actions.HandOver]:
        """Take the runs that are asked for once the ledger has answered."""
        self.write_ledger()
        return self.take(actions.HandOver)

    def run(self) -> actions.HandOver:
        (run,) = self.runs()
        return run

    def write_ledger(self) -> None:
        """Answer all that is to be written, and what is written then."""
        while written := self.take(actions.WriteLedger):
            self.handle(*(events.LedgerWritten(action.entry.batch_id) for action in written))

    def settle(self) -> list[actions.Settle]:
        """Answer all that is asked after a run, until every message is settled."""
        settled: list[actions.Settle] = []
        for _ in Stage:
            for letters in self.take(actions.PublishLetters):
                self.handle(events.LettersPublished(letters.batch_id))
            for outgoing in self.take(actions.PublishOutgoing):
                self.handle(events.OutgoingPublished(outgoing.batch_id, outgoing.run))
            self.write_ledger()
            for action in self.take(actions.Settle):
                settled.append(action)
                self.handle(events.Settled(action.batch_id))
        return settled
