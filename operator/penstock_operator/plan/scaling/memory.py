"""What is remembered from one decision to the next: what was wanted of late, and what a step up has brought.

Knows how it changes. Does not decide.
"""

from dataclasses import dataclass

from penstock_operator.plan.scaling.observation import Reading


@dataclass(frozen=True, slots=True)
class Step:
    """A step up, until it is known what it brought."""

    at: float
    before: int
    after: int
    settled_per_second: float
    """Before it."""


@dataclass(frozen=True, slots=True)
class Futile:
    """So many workers did not do more than fewer had done: Spark, the sink or the consumer is the wall, not they."""

    until: float
    """When more may be tried again."""
    workers: int
    """How many are enough."""
    times: int = 1
    """How often more were tried in vain, with nothing in between that helped."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Kept by whoever asks, for each queue group. To lose it costs a little time, and nothing else."""

    wanted: tuple[tuple[float, int], ...] = ()
    """What was wanted when, as far back as the longer of the two windows."""
    reading: Reading | None = None
    """The last one."""
    arrivals: tuple[float, ...] = ()
    """Messages that came in each second between the last readings."""
    empty_since: float | None = None
    same_since: float | None = None
    """Since when there have been as many workers as there are, all of them at work."""
    step: Step | None = None
    futile: Futile | None = None


NOTHING_YET = Memory()
