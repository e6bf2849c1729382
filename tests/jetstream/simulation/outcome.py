"""The outcome of a run of any simulation, as people read it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import pytest

from tests.jetstream.simulation.violation import Violation
from tests.jetstream.simulation.world import World


class Described(Protocol):
    """What a seed chose."""

    def describe(self) -> str: ...


@dataclass
class Outcome:
    """What became of a run."""

    seed: int
    options: Described
    module: str
    violation: str = ""
    seconds: float = 0.0
    lines: list[str] = field(default_factory=list)

    def describe(self) -> str:
        verdict = self.violation or f"all held; everything was done after {self.seconds:.0f} simulated seconds"
        head = f"seed {self.seed}\n{self.options.describe()}"
        return "\n".join([head, *self.lines, verdict, f"again: python -m {self.module} --seed {self.seed}"])


def play(seed: int, options: Described, world: World, live: Callable[[], None], *, module: str) -> Outcome:
    """Let a world live, and return what became of it."""
    outcome = Outcome(seed, options, module)
    try:
        live()
    except Violation as violation:
        outcome.violation = str(violation)
    outcome.seconds = world.now
    outcome.lines = world.lines or []
    return outcome


def check_seeds(run: Callable[..., Outcome], first: int, count: int) -> None:
    """Run seeds; the first that fails is run again, and tells its story."""
    for seed in range(first, first + count):
        if run(seed).violation:
            pytest.fail(run(seed, traced=True).describe(), pytrace=False)
