"""What is known at one moment: the consumer's counters, as its leader has them, and what the workers say of themselves.

Knows what follows from two readings. Does not ask anybody.
"""

from dataclasses import dataclass

from penstock_operator.plan.scaling.arrivals import Came
from penstock_operator.plan.scaling.service import NO_WORK_YET, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The counters of a consumer at one time."""

    at: float
    pending: int
    """Never delivered yet."""
    ack_pending: int
    """Delivered, and not answered: with a worker, or with one that is gone."""
    delivered: int
    """How many deliveries there were, ever."""

    @property
    def is_empty(self) -> bool:
        return not self.pending and not self.ack_pending

    def arrivals_since(self, before: "Reading") -> Came | None:
        """Return how many messages came in between; None if the two do not tell.

        What came is what was delivered meanwhile and what is pending more than before. Redeliveries count as arrivals:
        they are work, too. A count that falls is that of a consumer that was made anew.
        """
        if self.at <= before.at or self.delivered < before.delivered:
            return None
        return Came(before.at, self.at, max(0, self.pending - before.pending + self.delivered - before.delivered))


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """All that a decision is made of."""

    now: float
    reading: Reading | None
    """None: nobody could say."""
    workers: int
    """How many there are: asked for, and not yet asked to go."""
    ready: int
    """How many of them work."""
    held: int = 0
    """How many messages they hold, all together."""
    unheard: int = 0
    """How many that work did not answer: what they hold is not known."""
    work: Work = NO_WORK_YET
    """What they have done of late."""
    settled_per_second: float = 0
    """How many messages they finish, all together."""
