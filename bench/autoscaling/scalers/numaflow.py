"""Numaflow's autoscaler of a MonoVertex: what was read per second, what is pending, and a time to be done with it.

As its source has it (pkg/reconciler/monovertex/scaling/scaling.go, pkg/mvtxdaemon/server/service/rater). Pods have
numbers; each five seconds what the active ones have read is noted, and what is pending as number 0 tells it. Which
are active is looked up each half minute. Rates and pending are means over a time that grows if some pod reads nothing
for longer. Each half minute the number of pods is decided, unless it was changed a moment ago. At zero a pod is
started now and then, to look.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from bench.autoscaling import chance
from bench.autoscaling.cluster import Pod
from bench.autoscaling.world import World

SCALING_SECONDS = 30.0
RATER_SECONDS = 5.0
TRACKER_SECONDS = 30.0
LOOKBACK_SECONDS = 30.0
"""Between two looks at how far to look back."""
LONGEST_LOOKBACK_SECONDS = 600
KEPT = 360

Counts = tuple[float, Mapping[int, int]]
"""When, and what each pod had read by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numaflow:
    """The scale of a MonoVertex. The defaults are Numaflow's own."""

    lookback: int = 120
    cooldown: float = 90
    """After a change, up or down."""
    zero_sleep: float = 120
    target: float = 20
    """Seconds in which what is pending is to be done."""
    per_scale: int = 2
    """At most so many more, or fewer, at once."""

    @property
    def label(self) -> str:
        times = f"cooldown {self.cooldown:g} s, asleep {self.zero_sleep:g} s"
        return f"target {self.target:g} s, {self.per_scale} at once, {times}"

    def attach(self, world: World) -> None:
        vertex = MonoVertex(self, world, Rater(self.lookback))
        phase = chance.source(world.seed, "numaflow")
        clock = world.clock
        clock.every(TRACKER_SECONDS, vertex.track, first=phase.uniform(0, TRACKER_SECONDS))
        clock.every(RATER_SECONDS, vertex.note, first=phase.uniform(0, RATER_SECONDS))
        clock.every(LOOKBACK_SECONDS, vertex.look_back, first=phase.uniform(0, LOOKBACK_SECONDS))
        clock.every(SCALING_SECONDS, vertex.decide, first=phase.uniform(0, SCALING_SECONDS))


@dataclass(slots=True)
class Rater:
    """What pods have read, and what was pending."""

    shortest: int
    lookback: float = 0.0
    reads: list[Counts] = field(default_factory=list)
    pendings: list[tuple[float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lookback = self.shortest

    def note(self, now: float, read: Mapping[int, int], pending: int | None) -> None:
        if read:
            self.reads = [*self.reads, (now, read)][-KEPT:]
        if pending is not None:
            self.pendings = [*self.pendings, (now, pending)][-KEPT:]

    def rate(self, now: float) -> float | None:
        """Return what was read per second; None if that cannot be known."""
        start = _start([at for at, _ in self.reads], now, self.lookback)
        if start is None:
            return None
        window = self.reads[start:-1]  # the last one may not be complete
        seconds = window[-1][0] - window[0][0]
        if seconds <= 0:
            return None
        more = sum(_more(before, after) for (_, before), (_, after) in pairwise(window))
        return more / seconds

    def pending(self, now: float) -> int | None:
        start = _start([at for at, _ in self.pendings], now, self.lookback)
        if start is None:
            return None
        window = [number for _, number in self.pendings[start:]]
        return sum(window) // len(window)

    def look_back(self, now: float) -> None:
        """Look back for as long as some pod has read nothing, in whole minutes."""
        start = _start([at for at, _ in self.reads], now, 3 * self.lookback)
        if start is None:
            return
        window = self.reads[start:-1]
        if window[-1][0] == window[0][0]:
            return
        longest = 60 * math.ceil(longest_standstill(window) / 60)
        self.lookback = (
            min(longest, LONGEST_LOOKBACK_SECONDS) if longest > self.lookback else max(longest, self.shortest)
        )


def _start(times: list[float], now: float, lookback: float) -> int | None:
    """Return from which one on they are within the time; None if not even the last but one is."""
    if len(times) <= 1 or now - times[-2] > lookback:
        return None
    return next(index for index, at in enumerate(times) if at >= now - lookback or index == len(times) - 2)


def _more(before: Mapping[int, int], after: Mapping[int, int]) -> int:
    """Return what was read in between. A pod that has read less than before is a new one."""
    return sum(count - before.get(pod, 0) if count >= before.get(pod, 0) else count for pod, count in after.items())


def longest_standstill(window: list[Counts]) -> float:
    """Return for how long at most a pod's count did not change."""
    seen: dict[int, tuple[int, float]] = {}
    longest: dict[int, float] = {}
    for at, counts in window:
        for pod, count in counts.items():
            if pod in seen and seen[pod][0] == count:
                continue
            if pod in seen and count > seen[pod][0]:
                longest[pod] = max(longest.get(pod, 0.0), at - seen[pod][1])
            seen[pod] = (count, at)
    last_at, last = window[-1]
    for pod, (count, at) in seen.items():
        if pod in last and count:
            longest[pod] = max(longest.get(pod, 0.0), last_at - at)
    return max(longest.values(), default=0.0)


def desired(*, pending: int, rate: float, target: float, ready: int, current: int) -> int:
    """Return how many there should be, before any bound."""
    if not pending and not rate:
        return 0
    if not rate:
        return current
    number = max(1, math.floor(pending / rate / target * ready + 0.5))
    return min(number, pending) if pending else number


@dataclass(slots=True)
class MonoVertex:
    """One, at work."""

    settings: Numaflow
    world: World
    rater: Rater
    _active: set[int] = field(default_factory=set)
    _scaled_at: float = 0.0

    def track(self) -> None:
        if not self.world.is_silent:
            self._active = set(self._answering())

    def note(self) -> None:
        answering = {} if self.world.is_silent else self._answering()
        read = {place: pod.worker.read for place, pod in answering.items() if place in self._active and pod.worker}
        counters = self.world.counters() if 0 in read else None
        pending = None if counters is None else counters.pending + counters.ack_pending
        self.rater.note(self.world.clock.now, read, pending)

    def look_back(self) -> None:
        self.rater.look_back(self.world.clock.now)

    def decide(self) -> None:
        cluster, now, settings = self.world.cluster, self.world.clock.now, self.settings
        if now - self._scaled_at < settings.cooldown:
            return
        current = cluster.replicas
        if not current:
            if now - self._scaled_at >= settings.zero_sleep:
                self._scale(1)
            return
        rate, pending = self.rater.rate(now), self.rater.pending(now)
        if not cluster.ready or rate is None or pending is None:
            return
        wanted = desired(pending=pending, rate=rate, target=settings.target, ready=cluster.ready, current=current)
        wanted = min(wanted, self.world.trace.job.max_workers)
        self._scale(current + max(-settings.per_scale, min(settings.per_scale, wanted - current)))

    def _scale(self, number: int) -> None:
        if number != self.world.cluster.replicas:
            self.world.cluster.scale(number)
            self._scaled_at = self.world.clock.now

    def _answering(self) -> dict[int, Pod]:
        return {pod.place: pod for pod in self.world.cluster.live if pod.worker is not None}
