"""Worlds in which servers, processes, links, clocks and user code do their worst: what must hold does (checks.py).

A seed that fails prints what it chose and all that happened. Its bug then becomes an example in tests/worker/machine.
"""

import pytest

from tests.jetstream.simulation.outcome import check_seeds
from tests.worker.simulation.run import run

SEEDS = 4000
SEEDS_PER_TEST = 250


@pytest.mark.parametrize("first", range(0, SEEDS, SEEDS_PER_TEST))
def test_whatever_happens_what_must_hold_does(first: int) -> None:
    check_seeds(run, first, SEEDS_PER_TEST)


def test_a_seed_is_the_same_run_every_time() -> None:
    assert run(7, traced=True).lines == run(7, traced=True).lines
