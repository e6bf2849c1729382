"""A simple queue group for scaling decisions: given arrivals, workers with a start time, and batches with costs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from penstock_operator.plan.scaling import NO_WORK_YET, NOTHING_YET, Decision, Limits, Observation, Reading, Work, scale

STEP_SECONDS = 1.0
READING_SECONDS = 15.0
START_SECONDS = 5.0
BATCH_SECONDS, MESSAGE_SECONDS = 1, 0.001
"""A batch takes the one, and each of its messages the other in addition."""
FADING = 0.9


@dataclass
class Worker:
    ready_at: float
    batch: int = 0
    began_at: float = 0
    done_at: float = 0


@dataclass
class Group:
    """Runs under `scale` from one reading to the next."""

    limits: Limits
    arrivals: Callable[[float], float]
    """Messages a second, at a time."""
    wall: float = float("inf")
    """More messages a second than this cannot be done, however many workers try."""
    dearer_from: float = float("inf")
    dearer: float = 1
    """From that time on a batch takes so many times as long."""
    now: float = 0
    pending: float = 0
    delivered: int = 0
    settled: int = 0
    workers: list[Worker] = field(default_factory=list)
    leaving: list[Worker] = field(default_factory=list)
    """Drained: they finish what they hold, and take no more."""
    work: Work = NO_WORK_YET
    _settled_before: int = 0

    def run(self, seconds: float) -> Iterator[Decision]:
        """Let time go by, and yield each decision as it was taken."""
        memory, ends_at = NOTHING_YET, self.now + seconds
        while self.now < ends_at:
            decision = scale(self.limits, self.observed(), memory)
            memory = decision.memory
            self._become(decision.workers)
            yield decision
            for _ in range(int(READING_SECONDS / STEP_SECONDS)):
                self._step()

    def observed(self) -> Observation:
        held = sum(worker.batch for worker in self.workers)
        leaving = sum(worker.batch for worker in self.leaving)
        rate, self._settled_before = (self.settled - self._settled_before) / READING_SECONDS, self.settled
        return Observation(
            now=self.now,
            reading=Reading(
                at=self.now, pending=int(self.pending), ack_pending=held + leaving, delivered=self.delivered
            ),
            workers=len(self.workers),
            ready=sum(worker.ready_at <= self.now for worker in self.workers),
            held=held + leaving,
            work=self.work,
            settled_per_second=rate,
        )

    def _become(self, number: int) -> None:
        """Take idle ones first."""
        self.workers.sort(key=lambda worker: not worker.batch)
        self.leaving += self.workers[number:]
        self.workers = self.workers[:number]
        self.workers += [Worker(self.now + START_SECONDS) for _ in range(number - len(self.workers))]

    def _step(self) -> None:
        self.now += STEP_SECONDS
        self.pending += self.arrivals(self.now) * STEP_SECONDS
        for worker in self.workers + self.leaving:
            if worker.batch and worker.done_at <= self.now:
                self._done(worker)
        self.leaving = [worker for worker in self.leaving if worker.batch]
        for worker in self.workers:
            if not worker.batch and worker.ready_at <= self.now:
                self._take(worker)
        self.work = self.work.faded(FADING)

    def _done(self, worker: Worker) -> None:
        seconds, size = worker.done_at - worker.began_at, worker.batch
        self.work += Work(1, size, seconds, size**2, size * seconds, seconds)
        self.settled += size
        worker.batch = 0

    def _take(self, worker: Worker) -> None:
        worker.batch = min(int(self.pending), self.limits.batch)
        self.pending -= worker.batch
        self.delivered += worker.batch
        slowness = max(1.0, self._speed_of_all() / self.wall) * (self.dearer if self.now >= self.dearer_from else 1)
        worker.began_at = self.now
        worker.done_at = self.now + (BATCH_SECONDS + MESSAGE_SECONDS * worker.batch) * slowness

    def _speed_of_all(self) -> float:
        each = self.limits.batch / (BATCH_SECONDS + MESSAGE_SECONDS * self.limits.batch)
        return each * sum(worker.batch > 0 for worker in self.workers)


LIMITS = Limits(batch_messages=1000, in_flight=1)


def limits(**changes: float | None) -> Limits:
    return replace(LIMITS, **changes)  # type: ignore[arg-type]
