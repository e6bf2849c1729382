"""Ordered consumers on real servers: never a gap, never a duplicate, in order, whatever happens to server and consumer.

ADR-17 was written for consumers that push; ours are pulled from, as in other modern clients. So what it says of flow
control, and of idle heartbeats as fields of the consumer, is covered by pulls that ask for heartbeats (O-02, O-05).
"""

import asyncio

import pytest

from penstock_jetstream.client.ordering import Ordering
from penstock_jetstream.config.names import MAX_NAME_BYTES
from penstock_jetstream.core.times import rfc3339_in_full
from penstock_jetstream.errors import ClosedError, HeartbeatMissedError, MissingError, StreamRestartedError, UsageError
from tests.jetstream.scene import Scene, make_stream, on_every_server, scene, until
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.fixtures import StartNats

PATIENCE_SECONDS = 60


async def read(reading: Ordering, count: int) -> list[int]:
    """Return the numbers of the next messages."""
    numbers: list[int] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(numbers) < count:
            numbers.append(int((await anext(reading)).data))
    return numbers


@pytest.mark.requirement("O-01", "S-15", "S-16", "S-19")
@on_every_server
@pytest.mark.interpreter
async def test_stream_is_read_in_order(it: Scene) -> None:
    await it.fill(200)
    async with it.js.ordered(it.stream, max_messages=50) as reading:
        assert await read(reading, 200) == list(range(1, 201))
        await it.fill(10, first=201)
        assert await read(reading, 10) == list(range(201, 211))
    async with it.js.ordered(it.stream, max_bytes=1000) as reading:
        assert await read(reading, 210) == list(range(1, 211))


@pytest.mark.requirement("O-05", "O-06")
@on_every_server
async def test_consumer_is_in_memory_and_gone_at_the_end(it: Scene) -> None:
    async with it.js.ordered(it.stream, name_prefix="mine", filter_subjects=f"{it.stream}.*"):
        config = (await it.info("mine_1")).config
        assert await it.consumer_names() == ["mine_1"]
    assert (config["ack_policy"], config["max_deliver"], config["num_replicas"]) == ("none", 1, 1)
    assert config["mem_storage"]
    assert config["inactive_threshold"] == 300_000_000_000
    assert config["filter_subject"] == f"{it.stream}.*"
    assert await it.consumer_names() == []


@pytest.mark.requirement("O-01", "O-06")
@on_every_server
async def test_deleted_consumer_is_replaced(it: Scene) -> None:
    await it.fill(100)
    async with it.js.ordered(it.stream, name_prefix="mine", max_messages=10, on_report=it.reports.append) as reading:
        assert await read(reading, 30) == list(range(1, 31))
        await it.js.consumers.delete(it.stream, "mine_1")
        assert await read(reading, 70) == list(range(31, 101))
        await until(lambda: it.reports)
        await it.fill(10, first=101)
        assert await read(reading, 10) == list(range(101, 111))


@on_every_server
@pytest.mark.parametrize("policy", ["new", "last"])
async def test_new_means_since_the_reading_began(it: Scene, policy: str) -> None:
    """Naive: the next consumer takes what came between them for old."""
    await it.fill(10)
    async with it.js.ordered(
        it.stream, deliver_policy=policy, name_prefix="mine", on_report=it.reports.append
    ) as reading:
        if policy == "last":
            assert await read(reading, 1) == [10]
        await it.until(lambda info: info.num_waiting > 0, "mine_1")  # a pull on its way gets lost with its consumer
        await it.js.consumers.delete(it.stream, "mine_1")
        await it.fill(2, first=11)
        assert await read(reading, 2) == [11, 12]
    assert it.reports


@on_every_server
async def test_reading_begins_where_it_was_asked_to(it: Scene) -> None:
    for number in range(1, 21):
        await it.publish(b"%d" % number, subject=str(number % 10))
    async with it.js.ordered(it.stream, deliver_policy="by_start_sequence", opt_start_seq=15) as reading:
        message = await anext(reading)
        assert (message.data, message.metadata.stream_sequence, message.metadata.pending) == (b"15", 15, 5)
        since = rfc3339_in_full([await anext(reading) for _ in range(3)][-1].metadata.timestamp_ns)
    async with it.js.ordered(it.stream, deliver_policy="by_start_time", opt_start_time=since) as reading:
        assert await read(reading, 3) == [18, 19, 20]
    async with it.js.ordered(it.stream, filter_subjects=[f"{it.stream}.3", f"{it.stream}.4"]) as reading:
        assert await read(reading, 4) == [3, 4, 13, 14]
    every_subject = f"{it.stream}.*"
    async with it.js.ordered(it.stream, filter_subjects=every_subject, deliver_policy="last_per_subject") as reading:
        assert await read(reading, 10) == list(range(11, 21))


@pytest.mark.requirement("O-04")
async def test_what_would_break_the_order_is_refused(it: Scene) -> None:
    with pytest.raises(UsageError, match="durable_name"):
        it.js.ordered("ORDERS", config={"durable_name": "etl"})
    for prefix in ("a.b", "a" * (MAX_NAME_BYTES + 1)):
        with pytest.raises(UsageError):
            it.js.ordered("ORDERS", name_prefix=prefix)
    with pytest.raises(MissingError):
        await it.js.ordered("NO_SUCH_STREAM").__aenter__()
    async with it.js.ordered(it.stream) as reading:
        first = asyncio.ensure_future(anext(reading))
        await asyncio.sleep(0)  # calm: it begins
        with pytest.raises(UsageError, match="Two tasks"):
            await anext(reading)
        first.cancel()


async def test_next_may_return_none_and_stop_ends_iteration(it: Scene) -> None:
    await it.fill(1)
    async with it.js.ordered(it.stream) as reading:
        message = await reading.next(60)
        assert message is not None
        assert await reading.next(0.01) is None
        await it.fill(99, first=2)
        assert await read(reading, 1) == [2]
    numbers: list[int] = []
    async with it.js.ordered(it.stream, name_prefix="mine", max_messages=10) as reading:
        async for message in reading:
            if not numbers:
                await it.connection.flush()
                info = await it.info("mine_1")
                assert info.delivered.consumer_sequence == 10, "no more is fetched than was allowed"
            numbers.append(int(message.data))
            if len(numbers) == 3:
                reading.stop()
    assert numbers == [1, 2, 3]
    assert await it.consumer_names() == []


async def test_closing_the_connection_ends_it_with_an_error(it: Scene) -> None:
    async with it.js.ordered(it.stream) as reading:
        await it.connection.close()
        with pytest.raises(ClosedError, match="read in order"):
            await anext(reading)


@pytest.mark.requirement("O-02")
async def test_consumer_that_falls_silent_is_replaced(start_nats: StartNats) -> None:
    """Its server is gone and back, with streams but without consumers in memory; requests to it just hang.

    Naive: only reports it, and waits for ever (nats.py#510, #1005).
    """
    server = start_nats()
    async with scene(server.url, "S", storage="file") as it:
        await it.fill(10)
        async with it.js.ordered("S", expires_seconds=1, on_report=it.reports.append) as reading:
            assert await read(reading, 10) == list(range(1, 11))
            with server.frozen():
                await until(lambda: any(isinstance(report, HeartbeatMissedError) for report in it.reports))
            await it.fill(10, first=11)
            assert await read(reading, 10) == list(range(11, 21))


@pytest.mark.requirement("O-01", "O-06")
async def test_repeatedly_killed_server_costs_no_message(start_nats: StartNats) -> None:
    server = start_nats()
    numbers: list[int] = []
    async with scene(server.url, "S", storage="file") as it:
        await it.fill(3000)
        async with it.js.ordered("S", max_messages=100) as reading:
            for _ in range(3):
                numbers += await read(reading, 700)
                server.kill()
                server.start()
            numbers += await read(reading, 900)
    assert numbers == list(range(1, 3001))


async def test_stream_lost_with_its_server_and_recreated_is_read_on(start_nats: StartNats) -> None:
    """Naive: waits, without a word, until the stream has as many messages as before."""
    server = start_nats()
    async with scene(server.url, "S") as it:  # in memory
        await it.fill(5)
        async with it.js.ordered("S", on_report=it.reports.append) as reading:
            assert await read(reading, 5) == [1, 2, 3, 4, 5]
            server.kill()
            await until(lambda: not it.connection.is_connected)
            server.start()
            await until(lambda: it.connection.is_connected)
            await make_stream(it.js, "S")
            await it.fill(4, first=6)
            assert await read(reading, 4) == [6, 7, 8, 9]
        assert any(isinstance(report, StreamRestartedError) for report in it.reports)


@pytest.mark.requirement("O-01", "O-02", "O-06")
async def test_changing_leader_and_killed_node_cost_no_message(nats_cluster: NatsCluster) -> None:
    """The consumer lives on one node only: the one that is killed. During the election requests are not answered."""
    async with scene(nats_cluster.urls, "S", storage="file", num_replicas=3) as it:
        await it.fill(1000)
        async with it.js.ordered("S", max_messages=50, expires_seconds=2) as reading:
            numbers = await read(reading, 200)
            nats_cluster.step_down_stream("S")
            numbers += await read(reading, 300)
            (name,) = await it.consumer_names()
            nats_cluster.consumer_leader("S", name).kill()
            numbers += await read(reading, 500)
        assert numbers == list(range(1, 1001))
