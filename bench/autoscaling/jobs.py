"""What a queue group does with its messages: how batches are made, how long they take, and what they share.

Knows numbers. The same job is given to all scalers.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Times are seconds."""

    batch_messages: int = 5_000
    in_flight: int = 2
    max_wait: float = 0.2
    fixed_seconds: float = 1.0
    """What a batch of any size takes a worker that does nothing besides."""
    each_seconds: float = 0.0002
    """What each message takes on top."""
    first_seconds: float = 2.0
    """What a worker's first batch takes longer, as Java is cold."""
    spread: float = 0.25
    """Of the time that a batch takes: the sigma of its logarithm."""
    together: float = 1.4
    """What a worker does with all its batches running, over what it does with one."""
    sink_per_second: float | None = None
    """What takes the results takes no more messages than that, from all workers."""
    ack_wait: float = 30.0
    max_ack_pending: int = -1
    deadline: float = 600.0
    max_workers: int = 20

    def seconds(self, messages: int) -> float:
        return self.fixed_seconds + self.each_seconds * messages

    def speed(self, running: int) -> float:
        """Return how fast each of so many batches runs, beside one that runs alone."""
        share = (running - 1) / max(1, self.in_flight - 1)
        return (1 + (self.together - 1) * share) / running

    @property
    def worker_per_second(self) -> float:
        """How many messages a worker does with all its batches running, each full."""
        return self.batch_messages * self.in_flight * self.speed(self.in_flight) / self.seconds(self.batch_messages)

    @property
    def held_each(self) -> int:
        """How many messages a worker may hold: those with the driver, and two batches beside."""
        return self.batch_messages * (self.in_flight + 2)
