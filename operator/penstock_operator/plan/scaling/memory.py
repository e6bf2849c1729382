"""What is remembered from one decision to the next: what was wanted, what came in, and what a step up has brought.

Knows how it is kept. Does not decide.
"""

from dataclasses import dataclass

from penstock_operator.plan.scaling.arrivals import Arrivals
from penstock_operator.plan.scaling.observation import Reading


@dataclass(frozen=True, slots=True)
class Want:
    """A number that was wanted, from its first decision to its last."""

    begin: float
    end: float
    number: int


@dataclass(frozen=True, slots=True)
class Settled:
    """What was settled since some time on, as a mean of what is told from one decision to the next."""

    since: float
    until: float
    messages: float = 0

    @property
    def seconds(self) -> float:
        return self.until - self.since

    @property
    def per_second(self) -> float:
        return self.messages / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Step:
    """A step up, until it is known what it brought."""

    before: int
    after: int
    each: float
    """Messages a second that one worker could do before it."""
    settled: Settled | None = None
    """Since all of them work."""


@dataclass(frozen=True, slots=True)
class Futile:
    """So many workers did no more than fewer can do: Spark, the sink or the consumer is the wall, not they."""

    until: float
    """When more may be tried again."""
    workers: int
    """How many are enough."""
    per_second: float = 0.0
    """What they all did."""
    times: int = 1
    """How often more were tried in vain, with nothing in between that helped."""
    settled: Settled | None = None
    """Since there are no more than are enough, until it is known that they are."""
    is_proven: bool = False

    def bound(self, now: float) -> int:
        """Return how many there may be: twice as many once more may be tried, until that has been judged."""
        return self.workers if now < self.until else 2 * self.workers


@dataclass(frozen=True, slots=True)
class Memory:
    """Kept by whoever asks, for each queue group. To lose it costs a little time, and nothing else."""

    wanted: tuple[Want, ...] = ()
    """As far back as decisions look."""
    found: Want | None = None
    """What was there when this began, as if it had been wanted until it can be known what is."""
    reading: Reading | None = None
    """The last one."""
    arrivals: Arrivals = ()
    """As far back as decisions look."""
    empty_since: float | None = None
    step: Step | None = None
    futile: Futile | None = None


NOTHING_YET = Memory()
