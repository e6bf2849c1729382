"""Links to a cluster: leaders that step down, replicas that are away, and streams that nobody can tell of."""

import asyncio
from collections.abc import Mapping
from typing import Any

from penstock_operator.plan.decision import Create, Failure, Update
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Observed, Place, Present, Unknown
from penstock_operator.services.links import Link
from tests.jetstream.eventually import eventually
from tests.operator.links.linking import CONNECTION, Kept, keeping, spec_of
from tests.testbed.nats.cluster import NatsCluster


def stream(name: str, replicas: int = 3, **fields: Any) -> Mapping[str, Any]:  # noqa: ANN401 - the server's own
    return {"name": name, "subjects": [f"{name}.>"], "num_replicas": replicas, **fields}


PATIENCE_SECONDS = 90
READER = {"durable_name": "reader", "name": "reader", "ack_policy": "explicit"}


async def connected(kept: Kept, cluster: NatsCluster) -> Link:
    kept.keep(spec_of(*cluster.urls))
    return await kept.connected()


async def done(link: Link, place: Place, action: Create | Update) -> None:
    """Carry something out, as often as it fails for a reason that passes: a cluster may have no leader yet."""

    async def carried_out() -> bool:
        outcome = await link.carry_out(place, action)
        assert isinstance(outcome, Present) or (isinstance(outcome, Failure) and outcome.passing), outcome
        return isinstance(outcome, Present)

    await eventually(carried_out, f"{place} is there", PATIENCE_SECONDS)


async def test_who_leads_and_who_follows_is_told(nats_cluster: NatsCluster) -> None:
    async with keeping() as kept:
        link = await connected(kept, nats_cluster)
        place, reader = Place(link.account, "ORDERS"), Place(link.account, "ORDERS", "reader")
        await done(link, place, Create(stream("ORDERS")))
        await done(link, reader, Create(READER))
        told: list[Present] = []

        async def all_follow() -> bool:
            leader = (await asyncio.to_thread(nats_cluster.stream_leader, "ORDERS")).name
            present = await link.observe(place)
            told[:] = [present] if isinstance(present, Present) else []
            return bool(told and told[0].facts["currentReplicas"] == 3 and told[0].facts["leader"] == leader)

        await eventually(all_follow, "all replicas are current", PATIENCE_SECONDS)
        (present,) = told
        assert present.facts["cluster"] == "testbed"
        assert present.facts["replicas"] == 3


async def test_changes_are_made_while_leaders_step_down(nats_cluster: NatsCluster) -> None:
    async with keeping() as kept:
        link = await connected(kept, nats_cluster)
        place = Place(link.account, "ORDERS")
        await done(link, place, Create(stream("ORDERS")))

        async def change() -> list[Present | Failure | None]:
            return [await link.carry_out(place, Update(stream("ORDERS", max_msgs=number))) for number in range(1, 21)]

        changing = asyncio.create_task(change())
        await asyncio.to_thread(nats_cluster.step_down_stream, "ORDERS")
        await asyncio.to_thread(nats_cluster.step_down_meta)
        outcomes = await changing
        for outcome in outcomes:
            assert isinstance(outcome, Present) or (isinstance(outcome, Failure) and outcome.passing), outcome
        await done(link, place, Update(stream("ORDERS", max_msgs=100)))


async def test_a_stream_whose_only_server_is_down_is_unknown_and_not_missing(nats_cluster: NatsCluster) -> None:
    async with keeping() as kept:
        link = await connected(kept, nats_cluster)
        place, reader = Place(link.account, "ALONE"), Place(link.account, "ALONE", "reader")
        await done(link, place, Create(stream("ALONE", 1)))
        await done(link, reader, Create(READER))
        for number in range(3):
            await done(link, Place(link.account, f"S{number}"), Create(stream(f"S{number}")))
        nats_cluster.stream_leader("ALONE").kill()

        wanted = {"ALONE": frozenset({"reader"}), **{f"S{number}": frozenset[str]() for number in range(3)}}
        found: dict[Place, Observed] = {}

        async def seen() -> bool:
            """Wait until others lead what that server led."""
            nonlocal link
            link = await kept.connected()
            found.update({at: observed async for at, observed in link.read_all(wanted)})
            assert not any(isinstance(observed, Missing) for observed in found.values())
            return sum(isinstance(each, Present) for each in found.values()) == 3

        await eventually(seen, "the others are led again", PATIENCE_SECONDS)
        assert {at for at, observed in found.items() if isinstance(observed, Unknown)} == {place, reader}
        for at in (place, reader):
            observed = await link.observe(at)
            assert isinstance(observed, Unknown)
            assert observed.reason is Reason.UNREACHABLE
            assert "ALONE" in observed.message


async def test_without_a_majority_nothing_is_missing_and_what_fails_passes(nats_cluster: NatsCluster) -> None:
    async with keeping() as kept:
        link = await connected(kept, nats_cluster)
        place = Place(link.account, "ORDERS")
        await done(link, place, Create(stream("ORDERS")))
        leader = nats_cluster.stream_leader("ORDERS")  # one that lost its followers goes on answering, for minutes
        another = next(node for node in nats_cluster.nodes if node is not leader)
        leader.kill()
        another.kill()

        async def lost() -> bool:
            return isinstance(await link.observe(place), Unknown)

        await eventually(lost, "the stream has no leader any more", PATIENCE_SECONDS)
        failure = await link.carry_out(Place(link.account, "MORE"), Create(stream("MORE", 1)))
        assert isinstance(failure, Failure)
        assert failure.passing
        leader.start()

        async def back() -> bool:
            link = kept.links.link(CONNECTION)
            return link is not None and isinstance(await link.observe(place), Present)

        await eventually(back, "the stream is led again", PATIENCE_SECONDS)
