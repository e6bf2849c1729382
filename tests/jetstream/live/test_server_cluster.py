"""What the servers of a cluster know of a consumer, without our client library."""

from typing import Any

import pytest
from nats.errors import TimeoutError as NatsTimeoutError

from tests.jetstream.raw import Raw, connected, until_pending
from tests.jetstream.scene import eventually
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually_async

ARRIVAL_SECONDS = 5
"""In which a pull is at its consumer, or lost."""


def consumer_of(node: NatsServer, name: str) -> dict[str, Any]:
    """Return what one node knows of a consumer by itself."""
    accounts = node.monitored("jsz?streams=1&consumers=1")["account_details"]
    streams = [stream for account in accounts for stream in account["stream_detail"]]
    (consumer,) = [found for stream in streams for found in stream["consumer_detail"] if found["name"] == name]
    known: dict[str, Any] = consumer
    return known


@pytest.mark.requirement("V-10")
async def test_consumer_information_comes_from_its_leader(nats_cluster: NatsCluster) -> None:
    async with connected(**nats_cluster.connect_arguments()) as raw:
        await raw.make_stream("S", num_replicas=3)
        await raw.make_consumer("S.c")

        async def is_heard() -> bool:
            pull = await raw.pull_raw("S.c", b'{"batch":1,"no_wait":true}')
            return await pull.status(ARRIVAL_SECONDS) == "404 No Messages"

        await eventually_async(is_heard, "the leader of the consumer is heard of", not_yet=(NatsTimeoutError,))
        await raw.publish("S.a", *[b"1"] * 20)
        for message in await raw.take("S.c", 5):
            await raw.answer(message, b"+ACK")
        await until_pending(raw, "S.c", 15)

    for node in nats_cluster.nodes:
        async with connected(**node.connect_arguments()) as raw:

            async def is_of_the_leader(node: NatsServer = node, raw: Raw = raw) -> bool:
                leader = nats_cluster.consumer_leader("S", "c")
                info, known = await raw.consumer("S.c"), consumer_of(node, "c")["num_pending"]
                assert info["num_pending"] == 15 or info["cluster"]["leader"] != leader.name
                return bool(info["cluster"]["leader"] == leader.name and known == (15 if node is leader else 0))

            await eventually(is_of_the_leader, f"{node.name} passes on what the leader says, and knows less by itself")
