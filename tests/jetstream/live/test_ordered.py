"""Ordered consumers on real servers: never a gap, never a duplicate, in order, whatever happens to server and consumer.

ADR-17 was written for consumers that push; ours are pulled from, as in other modern clients. So what it says of flow
control, and of idle heartbeats as fields of the consumer, is covered by pulls that ask for heartbeats (O-02, O-05).
"""

import asyncio

import pytest

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.client.ordering import Ordering
from penstock_jetstream.config.names import MAX_NAME_BYTES
from penstock_jetstream.core.times import rfc3339_in_full
from penstock_jetstream.errors import (
    ClosedError,
    ConsumerDeletedError,
    GapError,
    HeartbeatMissedError,
    JetStreamError,
    MissingError,
    StreamRestartedError,
    UsageError,
)
from penstock_jetstream.transport.connection import Connection
from tests.jetstream.eventually import eventually
from tests.jetstream.scene import until
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.fixtures import StartNats, StartNatsLeaf
from tests.testbed.nats.leaf import LEAF_DOMAIN
from tests.testbed.nats.server import NatsServer

PATIENCE_SECONDS = 60


async def make_stream(js: JetStream, name: str, messages: int, **config: object) -> None:
    await js.streams.create({"name": name, "subjects": [f"{name}.>"], "storage": "memory", **config})
    await publish(js, name, 1, messages)


async def publish(js: JetStream, name: str, first: int, last: int) -> None:
    """Publish messages that say their number, and return when they are stored."""
    async with js.publisher() as publisher:
        for number in range(first, last + 1):
            _ = await publisher.submit(f"{name}.{number % 10}", b"%d" % number)


async def read(reading: Ordering, count: int) -> list[int]:
    """Return the numbers of the next messages."""
    numbers: list[int] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(numbers) < count:
            numbers.append(int((await anext(reading)).data))
    return numbers


async def until_pulled(js: JetStream, stream: str, consumer: str) -> None:
    """Wait until a pull waits at the server: one that is still on its way gets lost with its consumer."""

    async def is_waiting() -> bool:
        return (await js.consumers.info(stream, consumer)).num_waiting > 0

    await eventually(is_waiting, "a pull waits")


async def consumers_of(js: JetStream, stream: str) -> list[str]:
    return [name async for name in js.consumers.names(stream)]


class TestOnEveryServer:
    @pytest.mark.requirement("O-01", "S-15", "S-16", "S-19")
    @pytest.mark.interpreter
    async def test_stream_is_read_in_order(self, every_jetstream: JetStream, fresh_name: str) -> None:
        await make_stream(every_jetstream, fresh_name, 200)
        async with every_jetstream.ordered(fresh_name, max_messages=50) as reading:
            assert await read(reading, 200) == list(range(1, 201))
            await publish(every_jetstream, fresh_name, 201, 210)
            assert await read(reading, 10) == list(range(201, 211))
        async with every_jetstream.ordered(fresh_name, max_bytes=1000) as reading:
            assert await read(reading, 210) == list(range(1, 211))

    @pytest.mark.requirement("O-05", "O-06")
    async def test_consumer_is_in_memory_and_gone_at_the_end(self, every_jetstream: JetStream, fresh_name: str) -> None:
        await make_stream(every_jetstream, fresh_name, 1)
        async with every_jetstream.ordered(fresh_name, name_prefix="mine", filter_subjects=f"{fresh_name}.*"):
            config = (await every_jetstream.consumers.info(fresh_name, "mine_1")).config
            assert await consumers_of(every_jetstream, fresh_name) == ["mine_1"]
        assert (config["ack_policy"], config["max_deliver"], config["num_replicas"]) == ("none", 1, 1)
        assert config["mem_storage"]
        assert config["inactive_threshold"] == 300_000_000_000
        assert config["filter_subject"] == f"{fresh_name}.*"
        assert await consumers_of(every_jetstream, fresh_name) == []

    @pytest.mark.requirement("O-01", "O-06")
    async def test_deleted_consumer_is_replaced(self, every_jetstream: JetStream, fresh_name: str) -> None:
        reports: list[JetStreamError] = []
        await make_stream(every_jetstream, fresh_name, 100)
        async with every_jetstream.ordered(
            fresh_name, name_prefix="mine", max_messages=10, on_report=reports.append
        ) as reading:
            assert await read(reading, 30) == list(range(1, 31))
            await every_jetstream.consumers.delete(fresh_name, "mine_1")
            assert await read(reading, 70) == list(range(31, 101))
            await until(lambda: reports)
            await publish(every_jetstream, fresh_name, 101, 110)
            assert await read(reading, 10) == list(range(101, 111))

    async def test_new_means_since_the_reading_began(self, every_jetstream: JetStream, fresh_name: str) -> None:
        """The naive way: the next consumer takes what came between them for old."""
        for policy in ("new", "last"):
            name = f"{fresh_name}-{policy}"
            await make_stream(every_jetstream, name, 10)
            reports: list[JetStreamError] = []
            async with every_jetstream.ordered(
                name, deliver_policy=policy, name_prefix="mine", on_report=reports.append
            ) as reading:
                if policy == "last":
                    assert await read(reading, 1) == [10]
                await until_pulled(every_jetstream, name, "mine_1")
                await every_jetstream.consumers.delete(name, "mine_1")
                await publish(every_jetstream, name, 11, 12)
                assert await read(reading, 2) == [11, 12]
            assert reports

    async def test_reading_begins_where_it_was_asked_to(self, every_jetstream: JetStream, fresh_name: str) -> None:
        await make_stream(every_jetstream, fresh_name, 20)
        async with every_jetstream.ordered(fresh_name, deliver_policy="by_start_sequence", opt_start_seq=15) as reading:
            message = await anext(reading)
            assert (message.data, message.metadata.stream_sequence, message.metadata.pending) == (b"15", 15, 5)
            since = rfc3339_in_full([await anext(reading) for _ in range(3)][-1].metadata.timestamp_ns)
        async with every_jetstream.ordered(fresh_name, deliver_policy="by_start_time", opt_start_time=since) as reading:
            assert await read(reading, 3) == [18, 19, 20]
        subjects = [f"{fresh_name}.3", f"{fresh_name}.4"]
        async with every_jetstream.ordered(fresh_name, filter_subjects=subjects) as reading:
            assert await read(reading, 4) == [3, 4, 13, 14]
        async with every_jetstream.ordered(
            fresh_name, filter_subjects=f"{fresh_name}.*", deliver_policy="last_per_subject"
        ) as reading:
            assert await read(reading, 10) == list(range(11, 21))


class TestWhatIsWrong:
    @pytest.mark.requirement("O-04")
    async def test_what_would_break_the_order_is_refused(self, jetstream: JetStream, fresh_name: str) -> None:
        with pytest.raises(UsageError, match="durable_name"):
            jetstream.ordered("ORDERS", config={"durable_name": "etl"})
        for prefix in ("a.b", "a" * (MAX_NAME_BYTES + 1)):
            with pytest.raises(UsageError):
                jetstream.ordered("ORDERS", name_prefix=prefix)
        with pytest.raises(MissingError):
            await jetstream.ordered("NO_SUCH_STREAM").__aenter__()
        await make_stream(jetstream, fresh_name, 0)
        async with jetstream.ordered(fresh_name) as reading:
            first = asyncio.ensure_future(anext(reading))
            await asyncio.sleep(0)  # calm: it begins
            with pytest.raises(UsageError, match="Two tasks"):
                await anext(reading)
            first.cancel()


class TestWaiting:
    async def test_next_may_return_none_and_stop_ends_iteration(self, jetstream: JetStream, fresh_name: str) -> None:
        await make_stream(jetstream, fresh_name, 1)
        async with jetstream.ordered(fresh_name) as reading:
            message = await reading.next(60)
            assert message is not None
            assert await reading.next(0.01) is None
            await publish(jetstream, fresh_name, 2, 100)
            assert await read(reading, 1) == [2]
        numbers: list[int] = []
        async with jetstream.ordered(fresh_name, name_prefix="mine", max_messages=10) as reading:
            async for message in reading:
                if not numbers:
                    await jetstream.connection.flush()
                    info = await jetstream.consumers.info(fresh_name, "mine_1")
                    assert info.delivered.consumer_sequence == 10, "no more is fetched than was allowed"
                numbers.append(int(message.data))
                if len(numbers) == 3:
                    reading.stop()
        assert numbers == [1, 2, 3]
        assert await consumers_of(jetstream, fresh_name) == []

    async def test_closing_the_connection_ends_it_with_an_error(self, connection: Connection, fresh_name: str) -> None:
        js = JetStream(connection)
        await make_stream(js, fresh_name, 0)
        async with js.ordered(fresh_name) as reading:
            await connection.close()
            with pytest.raises(ClosedError, match="read in order"):
                await anext(reading)


class TestTrouble:
    @pytest.mark.requirement("O-07", "X-14")
    async def test_reset_consumer_is_replaced(self, newest_server: NatsServer, fresh_name: str) -> None:
        reports: list[JetStreamError] = []
        async with Connection(newest_server.url) as connection:
            js = JetStream(connection)
            await make_stream(js, fresh_name, 50)
            async with js.ordered(fresh_name, name_prefix="mine", max_messages=10, on_report=reports.append) as reading:
                assert await read(reading, 20) == list(range(1, 21))
                await js.consumers.reset(fresh_name, "mine_1", sequence=1)
                assert await read(reading, 30) == list(range(21, 51))
            assert any(isinstance(report, GapError) for report in reports)

    @pytest.mark.requirement("O-02")
    async def test_consumer_that_falls_silent_is_replaced(self, start_nats: StartNats) -> None:
        """Its server is gone and back, with streams but without consumers in memory; requests to it just hang.

        The naive way only reports it, and waits for ever (nats.py#510, #1005).
        """
        server = start_nats()
        reports: list[JetStreamError] = []
        async with Connection(server.url) as connection:
            js = JetStream(connection)
            await make_stream(js, "ORDERS", 10, storage="file")
            async with js.ordered("ORDERS", expires_seconds=1, on_report=reports.append) as reading:
                assert await read(reading, 10) == list(range(1, 11))
                with server.frozen():
                    await until(lambda: any(isinstance(report, HeartbeatMissedError) for report in reports))
                await publish(js, "ORDERS", 11, 20)
                assert await read(reading, 10) == list(range(11, 21))

    @pytest.mark.requirement("O-01", "O-06")
    async def test_repeatedly_killed_server_costs_no_message(self, start_nats: StartNats) -> None:
        server = start_nats()
        async with Connection(server.url) as connection:
            js = JetStream(connection)
            await make_stream(js, "ORDERS", 3000, storage="file")
            numbers: list[int] = []
            async with js.ordered("ORDERS", max_messages=100) as reading:
                for _ in range(3):
                    numbers += await read(reading, 700)
                    server.kill()
                    server.start()
                numbers += await read(reading, 900)
            assert numbers == list(range(1, 3001))

    async def test_stream_lost_with_its_server_and_recreated_is_read_on(self, start_nats: StartNats) -> None:
        """As one in memory is. The naive way waits, without a word, until it has as many messages as before."""
        server = start_nats()
        reports: list[JetStreamError] = []
        async with Connection(server.url) as connection:
            js = JetStream(connection)
            await make_stream(js, "ORDERS", 5)
            async with js.ordered("ORDERS", on_report=reports.append) as reading:
                assert await read(reading, 5) == [1, 2, 3, 4, 5]
                server.kill()
                await until(lambda: not connection.is_connected)
                server.start()
                await until(lambda: connection.is_connected)
                await make_stream(js, "ORDERS", 0)
                await publish(js, "ORDERS", 6, 9)
                assert await read(reading, 4) == [6, 7, 8, 9]
            assert any(isinstance(report, StreamRestartedError) for report in reports)

    async def test_recreated_stream_is_read_on(self, jetstream: JetStream, fresh_name: str) -> None:
        reports: list[JetStreamError] = []
        await make_stream(jetstream, fresh_name, 5)
        async with jetstream.ordered(fresh_name, on_report=reports.append) as reading:
            assert await read(reading, 5) == [1, 2, 3, 4, 5]
            await jetstream.streams.delete(fresh_name)
            await make_stream(jetstream, fresh_name, 0)
            await publish(jetstream, fresh_name, 6, 13)
            assert await read(reading, 8) == list(range(6, 14))
        assert [type(report) for report in reports if isinstance(report, StreamRestartedError)]
        assert any(isinstance(report, ConsumerDeletedError) for report in reports)

    async def test_messages_behind_a_leaf_node_are_read_by_domain(self, start_nats_leaf: StartNatsLeaf) -> None:
        pair = start_nats_leaf()
        async with Connection(pair.leaf.url) as near, Connection(pair.hub.url) as far:
            await make_stream(JetStream(near), "ORDERS", 50)
            async with JetStream(far, domain=LEAF_DOMAIN).ordered("ORDERS") as reading:
                assert await read(reading, 50) == list(range(1, 51))


class TestInACluster:
    @pytest.mark.requirement("O-01", "O-02", "O-06")
    async def test_changing_leader_and_killed_node_cost_no_message(self, nats_cluster: NatsCluster) -> None:
        """The consumer lives on one node only: the one that is killed. Who asks during the election is not answered."""
        async with Connection(nats_cluster.urls) as connection:
            js = JetStream(connection)
            await make_stream(js, "ORDERS", 1000, storage="file", num_replicas=3)
            async with js.ordered("ORDERS", max_messages=50, expires_seconds=2) as reading:
                numbers = await read(reading, 200)
                nats_cluster.step_down_stream("ORDERS")
                numbers += await read(reading, 300)
                (name,) = await consumers_of(js, "ORDERS")
                nats_cluster.consumer_leader("ORDERS", name).kill()
                numbers += await read(reading, 500)
            assert numbers == list(range(1, 1001))
