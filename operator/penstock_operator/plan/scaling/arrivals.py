"""How many messages came in of late, from what was seen between readings.

Knows sums over time. Does not decide.
"""

from collections.abc import Iterable
from dataclasses import dataclass

PARTS = 30
"""What came in a long time is remembered in so many parts at least, as mean values."""


@dataclass(frozen=True, slots=True)
class Came:
    """Messages, and between which times they came."""

    begin: float
    end: float
    messages: float

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    def within(self, begin: float, end: float) -> float:
        """Return how many of them came then, if all came evenly."""
        overlap = min(end, self.end) - max(begin, self.begin)
        return self.messages * overlap / self.seconds if overlap > 0 else 0.0


Arrivals = tuple[Came, ...]
"""In the order of time."""


def with_more(arrivals: Arrivals, more: Came, *, exact_seconds: float, kept_seconds: float) -> Arrivals:
    """Add what came last, forget what came too long ago, and take together what need not be known exactly any more."""
    if arrivals and not arrivals[-1].messages and not more.messages and arrivals[-1].end == more.begin:
        return (*arrivals[:-1], Came(arrivals[-1].begin, more.end, 0))
    arrivals = (*(came for came in arrivals if came.end > more.end - kept_seconds), more)
    old = sum(came.end <= more.end - exact_seconds for came in arrivals)
    if old > 1 and arrivals[old - 1].end - arrivals[old - 2].begin <= kept_seconds / PARTS:
        both = Came(
            arrivals[old - 2].begin, arrivals[old - 1].end, arrivals[old - 2].messages + arrivals[old - 1].messages
        )
        return (*arrivals[: old - 2], both, *arrivals[old:])
    return arrivals


def per_second(arrivals: Iterable[Came], begin: float, end: float) -> float:
    """Return the mean between two times. Where nothing is known of, nothing came."""
    return sum(came.within(begin, end) for came in arrivals) / (end - begin)
