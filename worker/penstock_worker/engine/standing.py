"""How the engine stands, as people and the operator are told: probes, the micro service's status, gauges.

Knows what it is told by the shell, and puts it in words. Decides nothing.
"""

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from penstock_jetstream import ConsumerInfo
from penstock_worker.policy.machine.actions import HandOver, HoldReason
from penstock_worker.policy.outcome import Verdict
from penstock_worker.policy.ranges import as_text
from penstock_worker.policy.settings import EngineSettings
from penstock_worker.policy.trouble import Trouble
from penstock_worker.probes import Judgement

VERSION = version("penstock-worker")
NO_LINK = "There is no link to the NATS servers."
RANGES_LETTERS = 500
"""Of a batch's ranges, where people read them: a scattered batch has thousands."""


@dataclass(slots=True)
class Run:
    """A run that is with the driver."""

    handed: HandOver
    since: float = field(default_factory=time.monotonic)

    def told(self) -> dict[str, Any]:
        handed = self.handed
        return {
            "id": handed.batch_id,
            "ranges": as_text(handed.ranges)[:RANGES_LETTERS],
            "messages": handed.count,
            "bytes": handed.bytes,
            "run": handed.run,
            "attempt": handed.attempt,
            "redelivered": handed.redelivered,
            "seconds": round(time.monotonic() - self.since, 3),
        }


@dataclass(slots=True)
class Work:
    """Sums over the batches that were done, from which whoever scales learns what a batch costs."""

    batches: int = 0
    messages: int = 0
    seconds: float = 0.0
    messages_squared: int = 0
    messages_times_seconds: float = 0.0
    busy_seconds: float = 0.0
    """With at least one batch at the driver."""

    def add(self, messages: int, seconds: float) -> None:
        self.batches += 1
        self.messages += messages
        self.seconds += seconds
        self.messages_squared += messages**2
        self.messages_times_seconds += messages * seconds

    def told(self) -> dict[str, Any]:
        return {
            "batches": self.batches,
            "messages": self.messages,
            "seconds": round(self.seconds, 3),
            "messagesSquared": self.messages_squared,
            "messagesTimesSeconds": round(self.messages_times_seconds, 3),
            "busySeconds": round(self.busy_seconds, 3),
        }


@dataclass(slots=True)
class Standing:
    """What is the case now."""

    settings: EngineSettings
    held: Callable[[], int] = lambda: 0
    """How many messages have no final answer yet, in a batch or on their way into one."""
    holds: tuple[HoldReason, ...] = (HoldReason.DRIVER,)
    runs: dict[str, Run] = field(default_factory=dict)
    """By batch id."""
    is_linked: bool = True
    trouble: str = ""
    """Why nothing can be pulled, besides the machine's reasons."""
    prerequisites: str = ""
    """What is wrong with the ledger or the stream of dead letters."""
    link_trouble: str = ""
    """Why there is no link, while there is none."""
    driver_why_not: str = ""
    driver_trouble: Trouble = Trouble.STARTING
    fault: str = ""
    """Of the run that ended last, if it did not go well."""
    verdicts: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    """Messages that have their final answer, by what became of them."""
    run_seconds: float = 0.0
    run_messages: int = 0
    work: Work = field(default_factory=Work)
    _busy_since: float | None = None
    pending: float = math.nan
    ack_pending: float = math.nan
    redelivered: float = math.nan
    """Not known before the consumer's info was read."""

    @property
    def is_circuit_open(self) -> bool:
        return HoldReason.CIRCUIT in self.holds

    def counted(self, info: ConsumerInfo) -> None:
        self.pending, self.ack_pending = info.num_pending, info.num_ack_pending
        self.redelivered = info.num_redelivered

    def began(self, handed: HandOver) -> None:
        if self._busy_since is None:
            self._busy_since = time.monotonic()
        self.runs[handed.batch_id] = Run(handed)

    def ended(self, batch_id: str, verdict: str, seconds: float, fault: str = "") -> None:
        run = self.runs.pop(batch_id, None)
        self.verdicts[verdict] += 1
        self.fault = "" if verdict == Verdict.OK else fault
        if run is not None:
            self.run_seconds += seconds
            self.run_messages += run.handed.count
            if verdict == Verdict.OK:
                self.work.add(run.handed.count, seconds)
        self._count_busy()

    def driver_lost(self) -> None:
        self.runs.clear()
        self._count_busy()

    def _count_busy(self) -> None:
        """Count the time that something ran, each time that a run ends: what runs took is not to be ahead of it."""
        if self._busy_since is None:
            return
        now = time.monotonic()
        self.work.busy_seconds += now - self._busy_since
        self._busy_since = now if self.runs else None

    def ready(self) -> Judgement:
        """Tell whether messages are worked on, or would be if there were any."""
        if self.trouble:
            return Judgement(holds=False, sentence=self.trouble)
        if not self.is_linked:
            return Judgement(
                holds=False, sentence=f"There is no link to the NATS servers. {self.link_trouble}".rstrip()
            )
        if self.prerequisites:
            return Judgement(holds=False, sentence=self.prerequisites)
        for reason in self.holds:
            if (sentence := _NOT_READY.get(reason)) is not None:
                return Judgement(holds=False, sentence=f"{sentence} {self._why(reason)}".rstrip())
        return Judgement(holds=True, sentence="Ready.")

    @property
    def why(self) -> Trouble:
        """What keeps it from being ready, for programs; the holds say the rest."""
        if self.trouble or not self.is_linked:
            return Trouble.NATS
        if self.prerequisites:
            return Trouble.STREAMS
        return self.driver_trouble if HoldReason.DRIVER in self.holds else Trouble.NONE

    def _why(self, reason: HoldReason) -> str:
        if reason is HoldReason.DRIVER:
            return self.driver_why_not
        return f"The last one: {self.fault}" if reason is HoldReason.CIRCUIT and self.fault else ""

    def told(self) -> dict[str, Any]:
        """Return the status that the micro service answers with."""
        ready = self.ready()
        return {
            "group": self.settings.group,
            "worker": self.settings.worker,
            "version": VERSION,
            "stream": self.settings.stream,
            "consumer": self.settings.consumer,
            "ready": ready.holds,
            "sentence": ready.sentence,
            "why": self.why.value,
            "fault": self.fault,
            "holds": [reason.value for reason in self.holds],
            "batches": [run.told() for run in self.runs.values()],
            "inFlight": self.settings.batch.in_flight,
            "maxMessages": self.settings.batch.max_messages,
            "heldMessages": self.held(),
            "runSeconds": round(self.run_seconds, 3),
            "runMessages": self.run_messages,
            **self.done(),
        }

    def done(self) -> dict[str, Any]:
        """Return what the engine has done since it started; its last log line has it, as nobody can ask then."""
        return {"verdicts": dict(self.verdicts), "answered": dict(self.answered), "work": self.work.told()}


_NOT_READY = {
    HoldReason.DRIVER: "The driver is not ready.",
    HoldReason.CIRCUIT: "Batches failed one after the other: nothing is pulled until one has succeeded.",
    HoldReason.ENDING: "The worker is ending.",
}
"""Being full, or paused by a person, is no trouble."""
