"""Ten thousand simulated worlds with faults of servers, networks, clocks and users; what must hold is in checks.py.

A seed that fails prints what it chose and all that happened. Its bug then becomes an example in tests/jetstream/pure.
"""

import pytest

from tests.jetstream.simulation.outcome import check_seeds
from tests.jetstream.simulation.run import run

QUICK_SEEDS = 250
SEEDS = 10_000


@pytest.mark.requirement("C-27", "C-31", "C-34", "C-35", "C-37", "C-41", "C-44", "C-50", "C-51", "C-53", "C-54", "C-55")
@pytest.mark.parametrize(
    "first",
    [0, *(pytest.param(first, marks=pytest.mark.full) for first in range(QUICK_SEEDS, SEEDS, QUICK_SEEDS))],
)
def test_the_checks_hold_whatever_fails(first: int) -> None:
    check_seeds(run, first, QUICK_SEEDS)


def test_a_seed_gives_the_same_run_every_time() -> None:
    assert run(7, traced=True).lines == run(7, traced=True).lines
