"""Ten thousand worlds, in which servers, networks, clocks and users do their worst: what must hold does (checks.py).

A seed that fails prints what it chose and all that happened. Its bug then becomes an example in tests/jetstream/pure.
"""

import pytest

from tests.jetstream.simulation.outcome import check_seeds
from tests.jetstream.simulation.run import run

SEEDS = 10_000
SEEDS_PER_TEST = 500


@pytest.mark.requirement("C-27", "C-31", "C-34", "C-35", "C-37", "C-41", "C-44", "C-50", "C-51", "C-53", "C-54", "C-55")
@pytest.mark.parametrize("first", range(0, SEEDS, SEEDS_PER_TEST))
def test_whatever_happens_what_must_hold_does(first: int) -> None:
    check_seeds(run, first, SEEDS_PER_TEST)


def test_a_seed_is_the_same_run_every_time() -> None:
    assert run(7, traced=True).lines == run(7, traced=True).lines
