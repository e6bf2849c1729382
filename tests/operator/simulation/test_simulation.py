"""Worlds in which users, other tools and misfortune do their worst to what the plans decide: what must hold does.

The operator is killed between any two steps, answers are lost, objects are edited and deleted at the worst moment. In
the end nothing is left behind that should have gone, nothing went that should have stayed, two objects never wrote to
one place, no object is stuck, nothing was written for nothing, and Ready=True is the truth (checks.py).
"""

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
