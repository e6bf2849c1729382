"""Kubernetes' HorizontalPodAutoscaler with one external metric of type AverageValue, from one sync to the next. Pure.

As its source has it (pkg/controller/podautoscaler: replica_calculator.go, horizontal.go): the tolerance, both windows
of stabilization, the policies and what was already added within their period, and the bounds. Knows numbers. Does not
ask for a metric.
"""

import math
from dataclasses import dataclass, field

TOLERANCE = 0.1
SYNC_SECONDS = 15.0

Timed = tuple[float, int]


@dataclass(frozen=True, slots=True)
class Policy:
    """So many pods, or so many percent of those at its beginning, within a period."""

    seconds: float
    pods: int | None = None
    percent: float | None = None

    def up_to(self, start: int) -> int:
        return start + self.pods if self.pods is not None else math.ceil(start * (1 + (self.percent or 0) / 100))

    def down_to(self, start: int) -> int:
        return start - self.pods if self.pods is not None else int(start * (1 - (self.percent or 0) / 100))


UP = (Policy(15, pods=4), Policy(15, percent=100))
DOWN = (Policy(15, percent=100),)
"""What holds where nothing is said."""


@dataclass(slots=True, kw_only=True)
class Hpa:
    """One of them."""

    target: float
    """Of the metric, per pod."""
    min_replicas: int = 1
    max_replicas: int = 100
    up_window: float = 0.0
    down_window: float = 300.0
    _recommended: list[Timed] = field(default_factory=list)
    _added: list[Timed] = field(default_factory=list)
    _removed: list[Timed] = field(default_factory=list)

    def sync(self, now: float, replicas: int, metric: float | None) -> int:
        """Return how many there shall be. None is a metric that could not be had."""
        if replicas == 0:
            return 0  # at zero it is not active: KEDA wakes
        if replicas > self.max_replicas:
            return self._rescaled(now, replicas, self.max_replicas)
        if replicas < self.min_replicas:
            return self._rescaled(now, replicas, self.min_replicas)
        if metric is None:
            return replicas
        if not self._recommended:
            self._recommended.append((now, replicas))
        wanted = self._stabilized(now, replicas, proposed(metric, self.target, replicas))
        return self._rescaled(now, replicas, self._limited(now, replicas, wanted))

    def _stabilized(self, now: float, replicas: int, wanted: int) -> int:
        self._recommended = [
            (at, number) for at, number in self._recommended if now - at <= max(self.up_window, self.down_window)
        ]
        least = min([wanted, *(number for at, number in self._recommended if now - at < self.up_window)])
        most = max([wanted, *(number for at, number in self._recommended if now - at < self.down_window)])
        self._recommended.append((now, wanted))
        return min(max(replicas, least), most)

    def _limited(self, now: float, replicas: int, wanted: int) -> int:
        if wanted > replicas:
            highest = max(policy.up_to(replicas - _within(self._added, now, policy)) for policy in UP)
            return min(wanted, max(replicas, highest), self.max_replicas)
        if wanted < replicas:
            lowest = min(policy.down_to(replicas + _within(self._removed, now, policy)) for policy in DOWN)
            return max(wanted, min(replicas, lowest), self.min_replicas)
        return replicas

    def _rescaled(self, now: float, replicas: int, number: int) -> int:
        if number > replicas:
            self._added.append((now, number - replicas))
        if number < replicas:
            self._removed.append((now, replicas - number))
        return number


def proposed(metric: float, target: float, replicas: int) -> int:
    """Return what the metric alone asks for."""
    ratio = metric / (target * replicas)
    return replicas if abs(1 - ratio) <= TOLERANCE else math.ceil(metric / target)


def _within(events: list[Timed], now: float, policy: Policy) -> int:
    return sum(number for at, number in events if at > now - policy.seconds)
