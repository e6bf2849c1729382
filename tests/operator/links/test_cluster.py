"""Links to a cluster: leaders that step down, replicas that are away, and streams without a leader."""

import asyncio

import pytest

from penstock_operator.plan.decision import Create, Failure, Update
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Observed, Place, Present, Unknown
from penstock_operator.services.links import Link
from tests.operator.links.linking import CONNECTION, Kept, a_consumer, a_stream, spec_of
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.waiting import eventually_async

PATIENCE_SECONDS = 120
REPLICATED = {"storage": "file", "num_replicas": 3}
ORDERS = a_stream("ORDERS", **REPLICATED)


@pytest.fixture
async def link(nats_cluster: NatsCluster, kept: Kept) -> Link:
    kept.keep(spec_of(*nats_cluster.urls))
    return await kept.connected()


def passes(outcome: object) -> bool:
    """Return whether an action succeeded; it may only have failed for a reason that passes."""
    assert isinstance(outcome, Present) or (isinstance(outcome, Failure) and outcome.passing), outcome
    return isinstance(outcome, Present)


async def done(link: Link, place: Place, action: Create | Update) -> None:
    """Carry something out, again while it fails for a reason that passes: a cluster may have no leader yet."""

    async def carried_out() -> bool:
        return passes(await link.carry_out(place, action))

    await eventually_async(carried_out, f"{place} is there", PATIENCE_SECONDS)


async def test_leader_and_followers_are_reported(nats_cluster: NatsCluster, link: Link) -> None:
    place = Place(link.account, "ORDERS")
    await done(link, place, Create(ORDERS))
    await done(link, Place(link.account, "ORDERS", "reader"), Create(a_consumer()))

    async def all_follow() -> Present | None:
        leader = (await asyncio.to_thread(nats_cluster.stream_leader, "ORDERS")).name
        present = await link.observe(place)
        if not isinstance(present, Present) or present.facts["currentReplicas"] < 3:
            return None
        return present if present.facts["leader"] == leader else None

    present = await eventually_async(all_follow, "all replicas are current", PATIENCE_SECONDS)
    assert (present.facts["cluster"], present.facts["replicas"]) == ("testbed", 3)


@pytest.mark.full
async def test_changes_succeed_or_pass_while_leaders_step_down(nats_cluster: NatsCluster, link: Link) -> None:
    place = Place(link.account, "ORDERS")
    await done(link, place, Create(ORDERS))

    async def change() -> None:
        for number in range(1, 21):
            passes(await link.carry_out(place, Update({**ORDERS, "max_msgs": number})))

    changing = asyncio.create_task(change())
    await asyncio.to_thread(nats_cluster.step_down_stream, "ORDERS")
    await asyncio.to_thread(nats_cluster.step_down_meta)
    await changing
    await done(link, place, Update({**ORDERS, "max_msgs": 100}))


@pytest.mark.full
async def test_stream_whose_only_server_is_down_is_unknown(nats_cluster: NatsCluster, kept: Kept, link: Link) -> None:
    place, reader = Place(link.account, "ALONE"), Place(link.account, "ALONE", "reader")
    await done(link, place, Create(a_stream("ALONE", storage="file")))
    await done(link, reader, Create(a_consumer()))
    others = [f"S{number}" for number in range(3)]
    for name in others:
        await done(link, Place(link.account, name), Create(a_stream(name, **REPLICATED)))
    nats_cluster.stream_leader("ALONE").kill()
    wanted = {"ALONE": frozenset({"reader"}), **dict.fromkeys(others, frozenset[str]())}
    found: dict[Place, Observed] = {}

    async def others_are_led() -> bool:
        link = await kept.connected()
        found.update({at: observed async for at, observed in link.read_all(wanted)})
        assert not any(isinstance(observed, Missing) for observed in found.values())
        return sum(isinstance(each, Present) for each in found.values()) == 3

    await eventually_async(others_are_led, "the others are led again", PATIENCE_SECONDS)
    assert {at for at, observed in found.items() if isinstance(observed, Unknown)} == {place, reader}
    link = await kept.connected()
    for at in (place, reader):
        observed = await link.observe(at)
        assert isinstance(observed, Unknown)
        assert observed.reason is Reason.UNREACHABLE
        assert "ALONE" in observed.message


@pytest.mark.full
async def test_stream_without_a_majority_is_unknown(nats_cluster: NatsCluster, kept: Kept, link: Link) -> None:
    place = Place(link.account, "ORDERS")
    await done(link, place, Create(ORDERS))
    leader = nats_cluster.stream_leader("ORDERS")  # one that lost its followers goes on answering, for minutes
    another = next(node for node in nats_cluster.nodes if node is not leader)
    leader.kill()
    another.kill()

    async def is_lost() -> bool:
        return isinstance(await link.observe(place), Unknown)

    await eventually_async(is_lost, "the stream has no leader any more", PATIENCE_SECONDS)
    assert not passes(await link.carry_out(Place(link.account, "MORE"), Create(a_stream("MORE"))))
    leader.start()

    async def is_back() -> bool:
        link = kept.links.link(CONNECTION)
        return link is not None and isinstance(await link.observe(place), Present)

    await eventually_async(is_back, "the stream is led again", PATIENCE_SECONDS)
