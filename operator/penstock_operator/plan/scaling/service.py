"""How long a batch takes, as a function of its size: learned from the batches that were done.

A run of a batch costs something whatever its size, and something for each message. Groups that are idle have small
batches, whose cost is nearly all of the first kind: who takes seconds per message from them believes that a backlog
needs a hundred times the workers that it needs. So both are estimated, from sums that workers keep and that add up.

Knows the arithmetic. Does not know what ran.
"""

from dataclasses import dataclass
from operator import add


@dataclass(frozen=True, slots=True)
class Work:
    """Sums over batches that were done. Those of several workers, or times, are added."""

    batches: float = 0
    messages: float = 0
    seconds: float = 0
    """Of all runs, whether side by side or not."""
    messages_squared: float = 0
    messages_times_seconds: float = 0
    busy_seconds: float = 0
    """Of a worker, with at least one batch running."""

    def __add__(self, other: "Work") -> "Work":
        return Work(*map(add, self._sums(), other._sums()))

    def faded(self, share: float) -> "Work":
        """Return the same with less weight, so that what is new counts for more."""
        return Work(*(value * share for value in self._sums()))

    def _sums(self) -> tuple[float, ...]:
        return (
            self.batches,
            self.messages,
            self.seconds,
            self.messages_squared,
            self.messages_times_seconds,
            self.busy_seconds,
        )


NO_WORK_YET = Work()

ASSUMED_SECONDS = 2.0
"""For a batch of any size, until one was done: a warm Spark takes a fraction of it, a large job a multiple."""
EVEN = 1e-3
"""Sizes that differ by less than this share of their mean tell nothing about what a message costs by itself."""


def batch_seconds(work: Work, size: float) -> float:
    """Return how long a batch of this size takes one worker that does nothing besides."""
    if work.batches <= 0:
        return ASSUMED_SECONDS
    fixed, each = _line(work)
    return fixed + each * size


def _line(work: Work) -> tuple[float, float]:
    """Fit seconds = fixed + each x messages by least squares, with neither below zero."""
    mean_size, mean_seconds = work.messages / work.batches, work.seconds / work.batches
    spread = work.messages_squared / work.batches - mean_size**2
    if spread <= (EVEN * mean_size) ** 2:
        return _proportional_beyond(mean_size, mean_seconds)
    each = (work.messages_times_seconds / work.batches - mean_size * mean_seconds) / spread
    each = max(0.0, each)
    fixed = mean_seconds - each * mean_size
    if fixed < 0:
        return 0.0, work.messages_times_seconds / work.messages_squared
    return fixed, each


def _proportional_beyond(mean_size: float, mean_seconds: float) -> tuple[float, float]:
    """All batches were of one size: half is taken for what any batch costs, which errs by two at most for others."""
    half = mean_seconds / 2
    return half, half / max(1.0, mean_size)


def messages_per_second(work: Work, batch: int, in_flight: int) -> float:
    """Return what one worker can do while it has all the batches that it may have, each as large as it may be."""
    seconds = batch_seconds(work, batch)
    return batch * side_by_side(work, in_flight) / max(seconds, 1e-6)


def side_by_side(work: Work, in_flight: int) -> float:
    """Return how many batches ran at once, on average, while any ran: their times overlap."""
    if work.busy_seconds <= 0:
        return 1.0
    return min(max(1.0, work.seconds / work.busy_seconds), float(in_flight))
