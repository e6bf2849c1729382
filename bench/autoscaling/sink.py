"""What takes the results of all workers, one after the other: a database, or a disk. Knows how fast it is."""

from dataclasses import dataclass

from bench.autoscaling.clock import Clock, Deed


@dataclass(slots=True)
class Sink:
    """First come, first served."""

    clock: Clock
    per_second: float | None
    """None: as fast as anybody."""
    _free_at: float = 0.0

    def write(self, messages: int, then: Deed) -> None:
        if self.per_second is None:
            then()
            return
        self._free_at = max(self._free_at, self.clock.now) + messages / self.per_second
        self.clock.at(self._free_at, then)
