"""A little of the chaos that `make chaos` makes: real processes, real Spark, a real server, each killed at work."""

import random

import pytest

from bench.soaking.worker import soak
from tests.chaos.playing import as_table, played
from tests.chaos.scenes import TELLING, Scene
from tests.testbed.nats.fixtures import StartNats

pytestmark = [pytest.mark.full, pytest.mark.timeout(2400)]
BATCHES, STAGES = 90, 3
A_FEW = 10
"""A thread or a file that each batch left behind would be thirty more."""
A_LITTLE = 1.15


@pytest.mark.parametrize("scene", TELLING, ids=[scene.name for scene in TELLING])
async def test_nothing_is_lost_or_written_twice_whatever_is_struck_in_the_middle(scene: Scene) -> None:
    rounds = [one async for one in played(scene, random.Random(1))]  # noqa: S311 - chance that can be repeated
    assert len(rounds) == len(scene.plays)
    assert all(one.held for one in rounds), f"{[one.account.problems for one in rounds]}\n{as_table(rounds)}"


async def test_a_worker_has_no_more_threads_files_and_memory_after_many_batches(start_nats: StartNats) -> None:
    """The benchmark `soak` is the same, and longer."""
    _, settled, last = await soak(start_nats().url, BATCHES, STAGES)
    for name, sample in last.samples.items():
        before = settled.samples[name]
        assert sample.threads <= before.threads + A_FEW, (name, before, sample)
        assert sample.files <= before.files + A_FEW, (name, before, sample)
    for name in ("engine", "driver"):
        assert last.samples[name].memory_mib <= settled.samples[name].memory_mib * A_LITTLE, name
