"""Two replicas never act at once, whatever clocks, networks and processes do; in the end one acts."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from typing_extensions import override

from penstock_operator.plan.lease import Terms
from tests.operator.services.replicas import Replica, World, begin, trouble
from tests.operator.services.virtual_time import in_virtual_time

SEEDS = range(25)
QUICK_SEEDS = 5
TROUBLE_SECONDS = 600.0


class TooLong(Terms):
    """A mistake: the holder acts for as long as its Lease lasts."""

    @property
    @override
    def acts_seconds(self) -> float:
        return self.duration_seconds


async def live(world: World) -> list[Replica]:
    replicas = [begin(world, name) for name in ("a", "b", "c")]
    await trouble(world, replicas, TROUBLE_SECONDS)
    await asyncio.sleep(2 * world.terms.duration_seconds)  # calm: virtual time
    return replicas


@pytest.mark.parametrize(
    "seed", [*range(QUICK_SEEDS), *(pytest.param(seed, marks=pytest.mark.full) for seed in SEEDS[QUICK_SEEDS:])]
)
@in_virtual_time
async def test_no_two_replicas_write_at_once(seed: int) -> None:
    world = World(seed)
    replicas = await live(world)
    assert list(world.overlapping()) == [], f"seed {seed}"
    assert [replica.election.leadership.is_held() for replica in replicas].count(True) == 1
    assert len({write.by for write in world.writes}) > 3, "the lead has hardly changed: nothing was tested"
    for replica in replicas:
        await replica.die()


def test_simulation_finds_a_holder_that_acts_too_long() -> None:
    @in_virtual_time
    async def overlaps(seed: int) -> bool:
        world = World(seed, TooLong())
        for replica in await live(world):
            await replica.die()
        return any(world.overlapping())

    assert any(map(overlaps, SEEDS))


def test_another_replica_leads_at_once_after_a_release_and_after_the_duration_when_the_holder_is_killed() -> None:
    terms = Terms()
    assert handover_seconds(Replica.end) <= terms.looks_every_seconds + 0.2
    killed = handover_seconds(Replica.die)
    assert terms.duration_seconds * 0.8 < killed <= terms.duration_seconds * 1.12 + terms.looks_every_seconds + 0.2


@in_virtual_time
async def handover_seconds(leave: Callable[[Replica], Awaitable[None]]) -> float:
    """Return the time from when one replica leaves to when the other leads."""
    world, loop = World(3, is_calm=True), asyncio.get_running_loop()
    first = begin(world, "a")
    await asyncio.sleep(5)  # calm: virtual time
    second, leads = begin(world, "b"), asyncio.Event()
    second.election.leadership.on_change(lambda _: leads.set())
    await asyncio.sleep(5.3)  # calm: virtual time
    await leave(first)
    left_at = loop.time()
    await leads.wait()
    await second.die()
    return loop.time() - left_at


@in_virtual_time
async def test_holder_without_a_network_stops_before_its_lease_runs_out() -> None:
    holder = begin(World(1, is_calm=True), "a")
    await asyncio.sleep(5)  # calm: virtual time
    assert holder.election.leadership.is_held()
    holder.runs.clear()
    await asyncio.sleep(Terms().acts_seconds / (1 - 0.1))  # calm: virtual time
    assert not holder.election.leadership.is_held()
    await holder.die()


@pytest.mark.interpreter
@in_virtual_time
async def test_renewal_is_one_request_and_no_transition() -> None:
    world = World(2, is_calm=True)
    holder = begin(world, "a")
    await asyncio.sleep(60)  # calm: virtual time
    assert 25 <= world.kept.writes <= 35
    assert world.kept.record is not None
    assert world.kept.record.transitions == 0
    await holder.die()
