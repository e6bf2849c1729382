"""A machine to play with: what is done to it is one line, what it asks for is kept until somebody looks.

Knows a group's usual settings and how a shell answers when all goes well. Does not know what ought to happen.
"""

from dataclasses import replace
from itertools import accumulate, count
from typing import TypeVar

from penstock_worker.policy.machine import actions as wants
from penstock_worker.policy.machine import events as told
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
FAULT = Fault("ValueError", "it does not parse")

Kind = TypeVar("Kind")


class Play:
    """A machine, its time, and what it asked for."""

    def __init__(self, settings: EngineSettings = SETTINGS, *, passes_on: bool = True) -> None:
        self.machine = Machine(settings, ack_wait_seconds=ACK_WAIT_SECONDS, passes_on=passes_on)
        self.now = 0.0
        self.asked: list[object] = []
        self._blocks = count(1)

    @classmethod
    def ready(cls, *, ledger: bool = True, **batch: float) -> "Play":
        """Return one that is past its start: the driver is ready, the ledger is empty."""
        limits = replace(SETTINGS.batch, **batch)  # type: ignore[arg-type]  # each is what its field wants
        play = cls(replace(SETTINGS, ledger=ledger, batch=limits))
        play.tell(told.Started(), told.DriverReady("one"))
        if ledger:
            play.tell(told.LedgerRead(()))
        play.asked.clear()
        return play

    def tell(self, *events: told.Event) -> None:
        for event in events:
            self.asked += self.machine.handle(event, now=self.now, chance=0.0)
            assert not self.machine.books.imbalance()

    def wait(self, seconds: float) -> None:
        """Let time pass, with the ticks that a shell sends meanwhile."""
        until = self.now + seconds
        while self.now < until:
            self.now = min(self.now + TICK_SECONDS, until)
            self.tell(told.Tick())

    def sleep(self, seconds: float) -> None:
        """Let time pass unnoticed."""
        self.now += seconds
        self.tell(told.Tick())

    def arrive(self, *sequences: int, redelivered: bool = False, size: int = 10, later: int = 0) -> int:
        """Have a block arrive; return its number. What was stored `later` are other messages of these sequences."""
        block = next(self._blocks)
        offsets = [0, *accumulate(size for _ in sequences)]
        self.tell(
            told.Arrived(
                block=block,
                sequences=sequences,
                stored_at=[sequence + later for sequence in sequences],
                offsets=offsets,
                redelivered=redelivered,
            )
        )
        return block

    def end(self, run: wants.HandOver, verdict: Verdict, *, rejected: tuple[int, ...] = (), outgoing: int = 0) -> None:
        rejections = tuple(Rejection(sequence, "no") for sequence in rejected)
        fault = None if verdict is Verdict.OK else FAULT
        outcome = Outcome(verdict, 0.1, rejections=rejections, fault=fault, outgoing=outgoing)
        self.tell(told.RunEnded(run.batch_id, run.run, outcome))

    def take(self, kind: type[Kind]) -> list[Kind]:
        """Take what was asked for of this kind; it is not seen again."""
        found = [action for action in self.asked if isinstance(action, kind)]
        self.asked = [action for action in self.asked if not isinstance(action, kind)]
        return found

    def one(self, kind: type[Kind]) -> Kind:
        (found,) = self.take(kind)
        return found

    def runs(self) -> list[wants.HandOver]:
        """Take the runs that are asked for, the ledger having answered."""
        self.write_ledger()
        return self.take(wants.HandOver)

    def run(self) -> wants.HandOver:
        (run,) = self.runs()
        return run

    def write_ledger(self) -> list[wants.WriteLedger]:
        written = self.take(wants.WriteLedger)
        for action in written:
            self.tell(told.LedgerWritten(action.entry.batch_id))
        return written

    def settle(self) -> list[wants.Settle]:
        """Answer whatever is asked after a run, until the server has taken it all."""
        settled: list[wants.Settle] = []
        for _ in Stage:
            self._publish()
            self.write_ledger()
            for action in self.take(wants.Settle):
                settled.append(action)
                self.tell(told.Settled(action.batch_id))
        return settled

    def _publish(self) -> None:
        for letters in self.take(wants.PublishLetters):
            self.tell(told.LettersPublished(letters.batch_id))
        for outgoing in self.take(wants.PublishOutgoing):
            self.tell(told.OutgoingPublished(outgoing.batch_id, outgoing.run))
