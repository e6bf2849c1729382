"""What a run is: so many messages, in how many seconds, and what each group of processes took of the CPU."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from bench.running.processes import cpu_seconds

MICROSECONDS = 1e6


@dataclass(frozen=True)
class Run:
    messages: int
    seconds: float
    cpu_seconds: Mapping[str, float]
    """By group: server, engine, driver."""

    @property
    def rate(self) -> float:
        return self.messages / self.seconds

    def cpu_microseconds(self, group: str) -> float:
        """Return what a group took for each message."""
        return self.cpu_seconds[group] / self.messages * MICROSECONDS


@contextmanager
def metered(groups: Mapping[str, int]) -> Iterator[dict[str, float]]:
    """Have filled in what each group, named by its first process, took while the block ran."""
    before = {name: cpu_seconds(pid) for name, pid in groups.items()}
    taken: dict[str, float] = {}
    yield taken
    taken |= {name: cpu_seconds(pid) - before[name] for name, pid in groups.items()}
