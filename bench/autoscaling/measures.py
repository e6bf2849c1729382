"""What is measured of one run: what it cost, how long messages waited, what was lost and how restless it was.

Knows sums and percentiles. Does not know what decided.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from bench.autoscaling.messages import Lots

Weighted = tuple[float, float]
"""A value, and how often it is there."""


def percentile(values: Sequence[Weighted], percent: float) -> float:
    """Return the value that so many percent of all do not exceed; 0 if there is none."""
    wanted = sum(weight for _, weight in values) * percent / 100
    for value, weight in sorted(values):
        wanted -= weight
        if wanted <= _NEARLY:
            return value
    return 0.0


_NEARLY = 1e-9
"""What rounding leaves of a weight."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What was the case at one time, for a picture."""

    at: float
    workers: int
    """That nodes held, ending ones too."""
    ready: int
    lag_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Of one run."""

    pod_seconds: float
    p50: float
    """Seconds from a message's coming to its answer."""
    p99: float
    lag_p50: float
    """Age of the oldest message that has no answer, over all times."""
    lag_p99: float
    kills: float
    """Workers that were killed with a batch running."""
    lost_seconds: float
    """Of work that had to be done again for that."""
    flaps: float
    """Changes of direction, up after down or down after up, per hour."""
    first_worker: float
    """Seconds from a message for which there was no worker to one that works; the mean of all such times."""
    unfinished: float
    """Messages that had no answer at the end. They count as if they had got it then."""
    samples: tuple[Sample, ...] = ()


def mean(outcomes: Sequence[Outcome]) -> Outcome:
    """Return what came out on average; the samples are those of the first."""

    def of(name: str) -> float:
        return sum(float(getattr(outcome, name)) for outcome in outcomes) / len(outcomes)

    names = [name for name in Outcome.__dataclass_fields__ if name != "samples"]
    return Outcome(**{name: of(name) for name in names}, samples=outcomes[0].samples)


@dataclass(slots=True)
class Waits:
    """How long each message took."""

    _taken: list[Weighted] = field(default_factory=list)

    def add(self, now: float, lots: Lots) -> None:
        self._taken += [(now - lot.came_at, lot.count) for lot in lots]

    def percentile(self, percent: float) -> float:
        return percentile(self._taken, percent)


@dataclass(slots=True)
class Direction:
    """How often the number of workers was changed the other way."""

    _signs: list[bool] = field(default_factory=list)

    def changed(self, before: int, after: int) -> None:
        self._signs.append(after > before)

    @property
    def flaps(self) -> int:
        return sum(one != other for one, other in pairwise(self._signs))


@dataclass(slots=True)
class Wakings:
    """How long messages were there without a worker, from zero."""

    _since: float | None = None
    _seconds: list[float] = field(default_factory=list)

    def look(self, now: float, *, oldest: float, ready: int) -> None:
        if ready or oldest > now:
            if self._since is not None and ready:
                self._seconds.append(now - self._since)
            self._since = None
        elif self._since is None:
            self._since = oldest

    @property
    def mean(self) -> float:
        return sum(self._seconds) / len(self._seconds) if self._seconds else 0.0
