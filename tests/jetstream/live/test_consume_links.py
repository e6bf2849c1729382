"""Consumptions over links that are cut, silent or gone, and servers that restart: complaints of users, as tests.

Each fails with the naive behaviour that its docstring names.
"""

import asyncio
from typing import Any

import pytest

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.core.acks import parse_token
from penstock_jetstream.errors import ConsumeError, ConsumerDeletedError, HeartbeatMissedError, RequestLostError
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.events import Connected
from tests.jetstream.scene import SECOND, Scene, on_newest_servers, read, scene, until
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.fixtures import StartNats, StartNatsCluster, StartRelay
from tests.testbed.nats.server import NatsServer
from tests.testbed.nats.shared import VARIANTS

QUICK: dict[str, Any] = {"expires_seconds": 1.0, "idle_heartbeat_seconds": 0.5}
"""Pulls whose loss is noticed within a second."""


@pytest.mark.requirement("C-52", "C-53", "C-54")
@pytest.mark.parametrize("how", ["kill", "terminate"])
async def test_restarted_server_is_pulled_from_again(start_nats: StartNats, how: str) -> None:
    """Naive: the pulls died with the server, the client makes no new ones, and the subscription is silent for ever."""
    server = start_nats()
    async with scene(server.url, "S", storage="file") as it:
        consumer = await it.create(mem_storage=False)
        await it.fill(10)
        seen: set[int] = set()
        async with consumer.consume() as messages:
            await read(messages, seen, 10)
            await asyncio.to_thread(getattr(server, how))
            await asyncio.to_thread(server.start)
            await it.fill(10)
            await read(messages, seen, 20)


@pytest.mark.requirement("C-53", "C-54")
async def test_repeated_cuts_cost_no_message(server: NatsServer, start_relay: StartRelay, fresh_name: str) -> None:
    """Naive: a cut between SUB and the pull, or with a pull open, leaves a subscription healthy and silent."""
    relay = start_relay(server.port)
    seen: set[int] = set()
    async with scene(server.url, fresh_name) as it, Connection(relay.url) as shaky:
        await it.create(ack_wait=SECOND // 4)
        links = asyncio.Semaphore(0)
        shaky.listen(lambda event: links.release() if isinstance(event, Connected) else None)
        js = JetStream(shaky)
        async with js.consumer(fresh_name, "c").consume(max_messages=5) as messages:
            reading = asyncio.create_task(read(messages, seen, 30))
            for _ in range(3):
                await it.fill(10)
                relay.cut()
                await links.acquire()
            await reading
    assert seen == set(range(1, 31))


@pytest.mark.requirement("C-50", "C-51", "X-01")
async def test_server_that_falls_silent_is_reported_and_pulled_from_again(start_nats: StartNats) -> None:
    """Naive: no alarm, or one that ends it."""
    server = start_nats()
    async with scene(server.url, "S") as it:
        consumer = await it.create()
        async with consumer.consume(**QUICK) as messages:
            await it.until_waiting()
            with server.frozen():
                await until(lambda: it.reports)
            assert isinstance(it.reports[0], HeartbeatMissedError)
            await it.publish(b"1")
            assert (await anext(aiter(messages))).data == b"1"


@pytest.mark.requirement("C-25", "C-50", "C-55", "X-01")
@pytest.mark.full
@on_newest_servers
async def test_quiet_stream_is_told_from_a_dead_one_by_its_heartbeats(it: Scene) -> None:
    """Naive: an alarm at two heartbeats that heartbeats do not reset. Paused consumers have heartbeats, too."""
    async with it.watched("_INBOX.>") as seen, it.watched_pulls() as pulls:

        def statuses(code: bytes) -> list[bytes]:
            """Return those of our own pulls: what other tests left waiting at this server has heartbeats, too."""
            ours = {pull.reply for pull in pulls}
            return [each.header for each in seen if each.subject in ours and each.header[9:12] == code]

        consumer = await it.create(pause_until="2100-01-01T00:00:00Z")
        await it.fill(1)
        async with consumer.consume(expires_seconds=8, idle_heartbeat_seconds=3.5) as messages:
            await until(lambda: statuses(b"408"))
            await it.js.consumers.resume(it.stream, "c")
            await anext(aiter(messages))
        beats = statuses(b"100")
        assert len(beats) >= 2
        assert all(beat.startswith(b"NATS/1.0 100 Idle Heartbeat\r\n") for beat in beats)
        assert b"Nats-Last-Consumer: 0\r\n" in beats[0]
        assert b"Nats-Last-Stream: 0\r\n" in beats[0]
        assert it.reports == []


@pytest.mark.requirement("C-54")
async def test_consumer_that_is_gone_after_a_reconnect_ends_it_only_if_so_asked(start_nats: StartNats) -> None:
    """Naive: a look at the consumer with each reconnect, which a restarting server answers wrongly (ADR-37, 3)."""
    server = start_nats()
    async with scene(server.url, "S") as it:  # in memory: it is gone with the server
        consumer = await it.create()
        async with consumer.consume(verify_on_reconnect=True) as verifying, consumer.consume() as patient:
            await it.until_waiting(2)
            await asyncio.to_thread(server.restart)
            with pytest.raises(ConsumerDeletedError):
                await verifying.closed()
            await until(lambda: it.reports)
            assert not patient.is_over
            await it.js.streams.create({"name": "S", "subjects": ["S.>"], "storage": "memory"})
            await it.create()
            await it.publish(b"back")
            assert (await anext(aiter(patient))).data == b"back"


async def given_up(it: Scene, server: NatsServer, name: str = "c") -> None:
    """Let a pull be given up and another be made, both of which the server then has."""
    await it.until(lambda info: info.num_waiting == 1, name)
    with server.frozen():
        await until(lambda: any(isinstance(report, HeartbeatMissedError) for report in it.reports))
    await it.until(lambda info: info.num_waiting == 2, name)


@pytest.mark.requirement("C-30", "C-35", "C-51")
async def test_late_messages_are_handed_out_and_no_more_is_asked_for_because_of_them(start_nats: StartNats) -> None:
    """Naive: they are taken for those of the new pull, which lets too much be asked for from then on."""
    server = start_nats()
    seen: set[int] = set()
    async with scene(server.url, "S") as it:
        consumer = await it.create()
        async with consumer.consume(max_messages=4, expires_seconds=10, idle_heartbeat_seconds=0.5) as messages:
            await given_up(it, server)
            await it.fill(12)
            await it.until_pending(8)
            await read(messages, seen, 12)
        assert seen == set(range(1, 13))
        consumer, seen = await it.create("lane", deliver_policy="new"), set()
        async with consumer.lane(max_messages=4, expires_seconds=10, idle_heartbeat_seconds=0.5) as lane:
            it.reports.clear()
            await given_up(it, server, "lane")
            await it.fill(12)
            async with asyncio.timeout(60):
                while len(seen) < 12:
                    block = await anext(lane)
                    seen.update(parse_token(reply).stream_sequence for reply in block.replies)
                    lane.ack(block.replies)
        assert seen == set(range(13, 25))


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
