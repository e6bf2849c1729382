"""Consumptions in a cluster whose leaders change and whose nodes die."""

import asyncio

import pytest

from penstock_jetstream.errors import ConsumeError, RequestLostError
from tests.jetstream.scene import SECOND, read, scene
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.fixtures import StartNatsCluster
from tests.testbed.nats.shared import VARIANTS


@pytest.fixture(params=["2.11", "2.15-acks-v2"])
def cluster(start_nats_cluster: StartNatsCluster, request: pytest.FixtureRequest) -> NatsCluster:
    """Three nodes of the oldest line, and of the newest with ack tokens of version 2."""
    options = VARIANTS[request.param]
    return start_nats_cluster(version=options.version, js_ack_fc_v2=options.js_ack_fc_v2)


@pytest.mark.requirement("C-44", "C-51", "C-53", "C-54", "S-19")
async def test_changing_leaders_and_dying_nodes_do_not_stall_a_consumption(cluster: NatsCluster) -> None:
    """Naive: "409 Leadership Change" has no headers, so the lost pull is counted as open for ever, and it stalls.

    Messages come long before the heartbeat's alarm, which is after 30 s.
    """
    seen: set[int] = set()
    async with scene(cluster.urls, "S", num_replicas=3, storage="file") as it:
        consumer = await it.create(mem_storage=False, ack_wait=SECOND)
        async with consumer.consume(max_messages=10) as messages:
            await it.fill(10)
            await read(messages, seen, 10)
            await it.until(lambda info: info.num_waiting >= 1)
            await asyncio.to_thread(cluster.step_down_consumer, "S", "c")
            await it.fill(10)
            await read(messages, seen, 20)
            await asyncio.to_thread(cluster.step_down_stream, "S")
            await it.fill(10)
            await read(messages, seen, 30)
            await asyncio.to_thread(cluster.node(it.connection.server.name).kill)
            await asyncio.to_thread(cluster.stream_leader, "S")
            await asyncio.to_thread(cluster.consumer_leader, "S", "c")
            await it.fill(10)
            await read(messages, seen, 40)
        assert any(isinstance(report, RequestLostError) for report in it.reports)
        assert all(isinstance(report, ConsumeError) for report in it.reports)
