"""What a queue group may have, and what is wanted of it: the words of spec.scaling and spec.batch, as numbers.

Knows what follows from them. Does not know how much there is to do.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Times are seconds."""

    min_workers: int = 0
    max_workers: int = 20
    target_drain: float = 30
    """In what time what waits shall be done."""
    up_window: float = 0
    down_window: float = 120
    """How long a change must have been wanted before it is made."""
    idle: float = 300
    """How long there must have been nothing at all before the last worker goes."""
    batch_messages: int = 100_000
    in_flight: int = 2
    """How many batches a worker may have at once."""
    max_ack_pending: int = -1
    """Of the consumer: how many messages may be out at once, among all workers. -1: as many as they like."""
    quota: int | None = None
    """How many there is room for, if that is known."""

    @property
    def batch(self) -> int:
        """How many messages a batch may have, as the server lets no more out."""
        return self.batch_messages if self.max_ack_pending < 0 else min(self.batch_messages, self.max_ack_pending)

    @property
    def running_each(self) -> int:
        """How many messages a worker may have at work at once."""
        return self.batch * self.in_flight

    @property
    def fed(self) -> int:
        """How many workers can have a whole batch each; more would take from each other."""
        return self.max_workers if self.max_ack_pending < 0 else max(1, self.max_ack_pending // max(1, self.batch))
