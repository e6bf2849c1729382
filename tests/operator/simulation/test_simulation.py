"""Whatever users, other tools and faults do to objects, what simulation/checks.py states holds."""

import pytest

from tests.jetstream.simulation.outcome import check_seeds
from tests.operator.simulation.run import run

SEEDS = 200
SEEDS_PER_TEST = 25


@pytest.mark.parametrize("first", range(0, SEEDS, SEEDS_PER_TEST))
def test_whatever_happens_what_must_hold_does(first: int) -> None:
    check_seeds(run, first, SEEDS_PER_TEST)


def test_a_seed_is_the_same_run_every_time() -> None:
    assert run(7, traced=True).lines == run(7, traced=True).lines
