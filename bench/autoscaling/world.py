"""One run: a trace, from a seed, under something that decides how many workers there are.

Knows how the parts go together, and what can be seen of them from outside, delayed, wrong or not at all. Does not
know how anybody decides.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from bench.autoscaling import chance
from bench.autoscaling.clock import Clock
from bench.autoscaling.cluster import Cluster, Victims
from bench.autoscaling.consumer import Consumer
from bench.autoscaling.measures import Direction, Outcome, Sample, Waits, Wakings, percentile
from bench.autoscaling.messages import Lots
from bench.autoscaling.sink import Sink
from bench.autoscaling.traces import Trace, during
from bench.autoscaling.worker import Worker

LOOK_SECONDS = 1.0
SAMPLE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Counters:
    """Of the consumer, as they are told."""

    pending: int
    ack_pending: int
    delivered: int


@dataclass(slots=True)
class World:
    """The queue group and its cluster. What decides reads and changes it at its own times."""

    trace: Trace
    seed: int
    grace: float
    victims: Victims = Victims.REPLICA_SET
    clock: Clock = field(default_factory=Clock)
    waits: Waits = field(default_factory=Waits)
    direction: Direction = field(default_factory=Direction)
    wakings: Wakings = field(default_factory=Wakings)
    consumer: Consumer = field(init=False)
    cluster: Cluster = field(init=False)
    _lags: list[tuple[float, float]] = field(default_factory=list)
    _samples: list[Sample] = field(default_factory=list)
    _stale: Counters | None = None

    def __post_init__(self) -> None:
        job = self.trace.job
        work = chance.source(self.seed, "work")
        fails = self._fails(chance.source(self.seed, "failures"))
        sink = Sink(self.clock, job.sink_per_second)
        self.consumer = Consumer(self.clock, job.max_ack_pending, self._settled)
        self.cluster = Cluster(
            self.clock,
            chance.source(self.seed, "pods"),
            lambda: Worker(self.clock, work, job, self.consumer, sink, fails),
            self.grace,
            victims=self.victims,
            changed=self.direction.changed,
        )
        for at, lots in self.trace.arrivals(chance.source(self.seed, "arrivals")):
            self.clock.at(at, self._arriving(lots))
        for begin, end in self.trace.trouble.leaderless:
            self.clock.at(begin, lambda: self._lead(is_there=False))
            self.clock.at(end, lambda: self._lead(is_there=True))
        for begin, _ in self.trace.trouble.stale:
            self.clock.at(begin, self._freeze)
        self.clock.every(LOOK_SECONDS, self._look)

    # What can be seen from outside

    def counters(self) -> Counters | None:
        """Return what the consumer's leader says; None while nobody answers."""
        now, trouble = self.clock.now, self.trace.trouble
        if during(trouble.silent, now) or during(trouble.leaderless, now):
            return None
        return self._stale if during(trouble.stale, now) else self._counters()

    def monitored(self) -> Counters | None:
        """Return what a server's monitoring endpoint says, asked as KEDA asks; None is an error."""
        return None if during(self.trace.trouble.node_gone, self.clock.now) else self.counters()

    @property
    def is_silent(self) -> bool:
        """Whether nobody can hear the workers."""
        return during(self.trace.trouble.silent, self.clock.now) is not None

    # What happens

    def run(self) -> Outcome:
        end = self.trace.seconds
        self.clock.run(end)
        return self._outcome(end / 3600)

    def _outcome(self, hours: float) -> Outcome:
        unfinished = self.consumer.arrived - self.consumer.answered
        self._count_unfinished()
        return Outcome(
            pod_seconds=self.cluster.pod_seconds,
            p50=self.waits.percentile(50),
            p99=self.waits.percentile(99),
            lag_p50=percentile(self._lags, 50),
            lag_p99=percentile(self._lags, 99),
            kills=self.cluster.kills,
            lost_seconds=self.cluster.lost_seconds,
            flaps=self.direction.flaps / hours,
            first_worker=self.wakings.mean,
            unfinished=unfinished,
            samples=tuple(self._samples),
        )

    def _count_unfinished(self) -> None:
        for lots in (self.consumer.left, *(worker.left for worker in self.workers)):
            self.waits.add(self.clock.now, lots)

    @property
    def workers(self) -> list[Worker]:
        return [pod.worker for pod in self.cluster.pods if pod.worker is not None]

    def _arriving(self, lots: Lots) -> Callable[[], None]:
        return lambda: self.consumer.arrive(lots)

    def _settled(self, lots: Lots) -> None:
        self.waits.add(self.clock.now, lots)

    def _fails(self, luck: Random) -> Callable[[], bool]:
        def fails() -> bool:
            now = self.clock.now
            share = sum(share for begin, end, share in self.trace.trouble.failing if begin <= now < end)
            return share > 0 and luck.random() < share

        return fails

    def _lead(self, *, is_there: bool) -> None:
        self.consumer.is_without_leader = not is_there
        self.consumer.hand_out()

    def _freeze(self) -> None:
        self._stale = self._counters()

    def _counters(self) -> Counters:
        return Counters(self.consumer.pending, self.consumer.ack_pending, self.consumer.delivered)

    def _look(self) -> None:
        now = self.clock.now
        oldest = min(self.consumer.oldest, *(worker.oldest for worker in self.workers), now)
        self._lags.append((now - oldest, 1))
        self.wakings.look(now, oldest=self.consumer.oldest, ready=self.cluster.ready)
        if now % SAMPLE_SECONDS < LOOK_SECONDS:
            held = sum(pod.scheduled_at is not None for pod in self.cluster.pods)
            self._samples.append(Sample(now, held, self.cluster.ready, now - oldest))
