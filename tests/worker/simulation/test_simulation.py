"""Simulated worlds in which servers, processes, links, clocks and user code fail: the checks of checks.py hold.

A seed that fails prints its options and its events. Its bug then becomes an example in tests/worker/machine.
"""

import pytest

from tests.jetstream.simulation.outcome import check_seeds
from tests.worker.simulation.run import run

SEEDS = 4000
QUICK_SEEDS = 250


@pytest.mark.interpreter
def test_checks_hold_in_some_simulated_worlds() -> None:
    check_seeds(run, 0, QUICK_SEEDS)


@pytest.mark.full
@pytest.mark.parametrize("first", range(QUICK_SEEDS, SEEDS, QUICK_SEEDS))
def test_checks_hold_in_many_simulated_worlds(first: int) -> None:
    check_seeds(run, first, QUICK_SEEDS)


def test_seed_is_the_same_run_every_time() -> None:
    assert run(7, traced=True).lines == run(7, traced=True).lines
