"""Publishing on real servers: what streams confirm and refuse, what is tried again, and batches of all or none."""

import asyncio

import pytest

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.core.publishing import Draft, PublishOptions, Retry
from penstock_jetstream.errors import (
    ApiError,
    ClosedError,
    ConflictError,
    ErrorCode,
    LinkError,
    NoRespondersError,
    RequestTimeoutError,
    RetryableError,
    UsageError,
)
from penstock_jetstream.transport.connection import Connection
from tests.jetstream.connecting import fragile
from tests.jetstream.scene import eventually, make_stream
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.fixtures import StartNats, StartRelay


async def test_stream_confirms_and_stores_each_message_id_once(every_jetstream: JetStream, fresh_name: str) -> None:
    name = await make_stream(every_jetstream, fresh_name)
    ack = await every_jetstream.publish(f"{name}.a", b"1", headers={"Color": "red"}, message_id="7")
    assert (ack.stream, ack.sequence, ack.duplicate) == (name, 1, False)
    stored = await every_jetstream.streams.get_message(name, sequence=1)
    assert (stored.data, stored.headers["Color"]) == (b"1", "red")
    again = await every_jetstream.publish(f"{name}.a", message_id="7")
    assert (again.sequence, again.duplicate) == (1, True)


async def test_unmet_expectation_is_a_conflict(
    every_jetstream: JetStream, fresh_name: str, subtests: pytest.Subtests
) -> None:
    name = await make_stream(every_jetstream, fresh_name)
    await every_jetstream.publish(f"{name}.a", message_id="7")
    cases: tuple[PublishOptions, ...] = (
        {"expected_last_sequence": 5},
        {"expected_last_subject_sequence": 0},
        {"expected_last_message_id": "other"},
        {"expected_stream": "OTHER"},
    )
    for options in cases:
        with subtests.test(str(options)):
            with pytest.raises(ConflictError, match=rf"A message on {name}\.a could not be stored"):
                await every_jetstream.publish(f"{name}.a", **options)
            assert (await every_jetstream.streams.info(name)).state.messages == 1
    met: PublishOptions = {"expected_last_subject_sequence": 0, "expected_last_message_id": "7"}
    met |= {"expected_stream": name, "expected_last_sequence": 1}
    ack = await every_jetstream.publish(f"{name}.b", **met)
    assert ack.sequence == 2
    of_others: PublishOptions = {"expected_last_subject_sequence": 2, "expected_last_subject": f"{name}.*"}
    assert (await every_jetstream.publish(f"{name}.c", **of_others)).sequence == 3
    with pytest.raises(ConflictError):
        await every_jetstream.publish(f"{name}.c", **of_others)


@pytest.mark.requirement("X-02")
async def test_publish_is_repeated_until_a_stream_answers(every_jetstream: JetStream, fresh_name: str) -> None:
    with pytest.raises(NoRespondersError, match=rf"No stream has taken a message on {fresh_name}\.a, in 3 attempts"):
        await every_jetstream.publish(f"{fresh_name}.a", retry=Retry(wait_seconds=0.01))
    with pytest.raises(
        (NoRespondersError, RequestTimeoutError)
    ):  # as the last attempt has been answered by then or not
        await every_jetstream.publish(f"{fresh_name}.a", retry=Retry(-1, 0.01), timeout_seconds=0.1)
    publishing = asyncio.create_task(
        every_jetstream.publish(f"{fresh_name}.a", retry=Retry(-1, 0.01), timeout_seconds=60)
    )
    await every_jetstream.connection.flush()
    await make_stream(every_jetstream, fresh_name)
    assert (await publishing).sequence == 1


async def test_message_that_a_mere_subscriber_gets_is_not_confirmed(connection: Connection, fresh_name: str) -> None:
    """In time, nor when the publisher is left by an error or the connection is closed."""
    jetstream = JetStream(connection)
    connection.subscribe(fresh_name, lambda *_: None)
    with pytest.raises(RequestTimeoutError, match=r"No stream has confirmed .* is not known"):
        await jetstream.publish(fresh_name, timeout_seconds=0.05)
    async with jetstream.publisher(timeout_seconds=0.05) as publisher:
        acks = [await publisher.submit(fresh_name) for _ in range(3)]
    assert [type(ack.exception()) for ack in acks] == [RequestTimeoutError] * 3

    async def fail() -> None:
        async with jetstream.publisher() as publisher:
            acks.append(await publisher.submit(fresh_name))
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    assert isinstance(acks[-1].exception(), ClosedError)
    async with jetstream.publisher() as publisher:
        ack = await publisher.submit(fresh_name)
        await connection.close()
        with pytest.raises(ClosedError):
            await ack


async def test_lost_link_leaves_only_messages_with_an_id_certain(
    start_nats: StartNats, start_relay: StartRelay
) -> None:
    """Naive: to publish again in any case, which stores it twice."""
    async with fragile(start_nats, start_relay) as scene:
        jetstream = JetStream(scene.connection)
        name = await make_stream(jetstream, "ORDERS")
        with scene.server.frozen():
            unsafe = asyncio.create_task(jetstream.publish(f"{name}.b"))
            safe = asyncio.create_task(jetstream.publish(f"{name}.c", message_id="7"))
            await scene.lose()
            with pytest.raises(LinkError, match="Whether it was stored is not known"):
                await unsafe
        assert (await safe).stream == name
        info = await jetstream.streams.info(name, subjects=">")
        assert info.state.subjects[f"{name}.c"] == 1


# Many at once.


@pytest.mark.interpreter
async def test_publisher_keeps_the_order_and_confirms_each(every_jetstream: JetStream, fresh_name: str) -> None:
    name = await make_stream(every_jetstream, fresh_name)
    async with every_jetstream.publisher(max_in_flight=10) as publisher:
        acks = [await publisher.submit(f"{name}.a", str(number).encode()) for number in range(100)]
    assert [ack.result().sequence for ack in acks] == list(range(1, 101))
    assert (await every_jetstream.streams.get_message(name, sequence=100)).data == b"99"


async def test_publisher_has_no_more_on_its_way_than_it_may(jetstream: JetStream, fresh_name: str) -> None:
    """A subscriber plays the stream, as it can take its time."""
    connection = jetstream.connection
    heard: list[str] = []
    connection.subscribe(fresh_name, lambda _s, reply, _h, _p: heard.append(reply.decode()))
    async with jetstream.publisher(max_in_flight=2) as publisher:
        acks = [await publisher.submit(fresh_name) for _ in range(2)]
        third = asyncio.create_task(publisher.submit(fresh_name))
        await connection.flush()
        assert (len(heard), third.done()) == (2, False)
        connection.publish(heard[0], b'{"stream":"S","seq":1}')
        ack = await third
        await connection.flush()
        assert (len(heard), acks[0].result().sequence) == (3, 1)
        for reply in heard[1:]:
            connection.publish(reply, b'{"stream":"S","seq":2}')
    assert (acks[1].done(), ack.done()) == (True, True)


async def test_what_fails_in_a_publisher_fails_alone(jetstream: JetStream, fresh_name: str) -> None:
    name = await make_stream(jetstream, fresh_name)
    async with jetstream.publisher(retry=Retry(2, 0.01)) as publisher:
        good = await publisher.submit(f"{name}.a")
        refused = await publisher.submit(f"{name}.a", expected_last_sequence=7)
        homeless = await publisher.submit(f"elsewhere.{name}")
        with pytest.raises(UsageError):
            _ = await publisher.submit("no good subject")
        last = await publisher.submit(f"{name}.a")
    assert (good.result().sequence, last.result().sequence) == (1, 2)
    assert isinstance(refused.exception(), ConflictError)
    assert isinstance(homeless.exception(), NoRespondersError)


async def test_publisher_outlives_a_server_and_repeats_only_what_has_an_id(start_nats: StartNats) -> None:
    server = start_nats()
    async with Connection(server.url) as connection:
        jetstream = JetStream(connection)
        name = await make_stream(jetstream, "ORDERS", storage="file")
        async with jetstream.publisher(timeout_seconds=60) as publisher:
            await (await publisher.submit(f"{name}.a"))
            server.freeze()
            unsafe = await publisher.submit(f"{name}.b")
            safe = await publisher.submit(f"{name}.c", message_id="7")
            server.kill()
            with pytest.raises(LinkError, match="is not known"):
                await unsafe
            later = await publisher.submit(f"{name}.d")
            server.start()
            assert (await safe).stream == name
            assert (await later).stream == name
        info = await jetstream.streams.info(name, subjects=">")
        assert info.state.subjects[f"{name}.c"] == info.state.subjects[f"{name}.d"] == 1


@pytest.mark.requirement("X-02")
async def test_nothing_is_lost_or_stored_twice_while_leaders_change(nats_cluster: NatsCluster) -> None:
    """Without a leader no server answers, or too late; ids keep what is repeated from being stored twice."""
    async with Connection(nats_cluster.urls) as connection:
        jetstream = JetStream(connection, timeout_seconds=0.5)
        name = await make_stream(JetStream(connection), "ORDERS", num_replicas=3, storage="file")

        async def publish_one(number: int) -> None:
            while True:
                try:
                    await jetstream.publish(f"{name}.{number}", message_id=str(number), retry=Retry(-1, 0.05))
                except (NoRespondersError, RequestTimeoutError):
                    continue
                return

        async def publish_some(first: int) -> None:
            for number in range(first, first + 25):
                await publish_one(number)

        async def has_leader() -> bool:
            cluster = (await jetstream.streams.info(name)).cluster
            return cluster is not None and cluster.leader is not None

        async def has_stepped_down() -> bool:
            await JetStream(connection).streams.step_down(name)
            return True

        publishing = [asyncio.create_task(publish_some(first)) for first in range(0, 100, 25)]
        for _ in range(2):
            await eventually(has_stepped_down, "a leader steps down")
            await eventually(has_leader, "a leader")
        await asyncio.gather(*publishing)

        async def is_whole() -> bool:
            state = (await jetstream.streams.info(name)).state
            return (state.messages, state.subjects_count) == (100, 100)

        await eventually(is_whole, "100 messages, each once")


async def test_publisher_that_is_not_open_takes_nothing(jetstream: JetStream, fresh_name: str) -> None:
    publisher = jetstream.publisher()
    for _ in range(2):
        with pytest.raises(UsageError, match="not open"):
            _ = await publisher.submit(fresh_name)
        async with publisher:
            pass


async def test_cancelling_a_confirmation_does_not_affect_others(jetstream: JetStream, fresh_name: str) -> None:
    connection = jetstream.connection
    heard: list[str] = []
    connection.subscribe(fresh_name, lambda _s, reply, _h, _p: heard.append(reply.decode()))
    async with jetstream.publisher() as publisher:
        acks = [await publisher.submit(fresh_name) for _ in range(3)]
        await connection.flush()
        acks[0].cancel()
        acks[1].cancel()
        for reply, answer in zip(heard, (b'{"stream":"S","seq":1}', b"{", b'{"stream":"S","seq":3}'), strict=True):
            connection.publish(reply, answer)
    assert acks[2].result().sequence == 3


# All or none.


def drafts(name: str, number: int) -> list[Draft]:
    return [Draft(f"{name}.{index}", str(index).encode()) for index in range(number)]


@pytest.mark.requirement("X-10")
async def test_batch_is_stored_as_a_whole(every_jetstream: JetStream, fresh_name: str) -> None:
    if await every_jetstream.api.level() < 2:
        with pytest.raises(UsageError, match=r"An atomic batch needs .* API level 2"):
            await every_jetstream.publish_batch(drafts(fresh_name, 3))
        return
    name = await make_stream(every_jetstream, fresh_name, allow_atomic=True)
    ack = await every_jetstream.publish_batch(drafts(name, 250))
    assert (ack.sequence, ack.batch_size) == (250, 250)
    assert (await every_jetstream.streams.info(name)).state.messages == 250
    assert (await every_jetstream.publish_batch(drafts(name, 1))).sequence == 251


@pytest.mark.requirement("X-10")
async def test_batch_that_is_refused_stores_nothing(jetstream: JetStream, fresh_name: str) -> None:
    """One bad message, more than a thousand messages or none, a stream that allows no batches, or no stream at all."""
    with pytest.raises(NoRespondersError):
        await jetstream.publish_batch(drafts(f"{fresh_name}-none", 3))
    plain = await make_stream(jetstream, f"{fresh_name}-plain")
    with pytest.raises(ApiError) as refused:
        await jetstream.publish_batch(drafts(plain, 3))
    assert refused.value.err_code == ErrorCode.ATOMIC_PUBLISH_DISABLED
    name = await make_stream(jetstream, fresh_name, allow_atomic=True, max_msg_size=10_000)
    for bad in (Draft(f"{name}.x", bytes(20_000)), Draft(f"{name}.x", options={"expected_last_subject_sequence": 9})):
        with pytest.raises(ApiError, match=rf"on {name}\.x"):
            await jetstream.publish_batch([*drafts(name, 5), bad])
    with pytest.raises(ApiError) as refused:
        await jetstream.publish_batch(drafts(name, 1001))
    assert refused.value.err_code == ErrorCode.ATOMIC_PUBLISH_TOO_LARGE_BATCH
    with pytest.raises(UsageError):
        await jetstream.publish_batch([])
    assert [(await jetstream.streams.info(each)).state.messages for each in (plain, name)] == [0, 0]
    assert (await jetstream.publish_batch(drafts(name, 1000))).batch_size == 1000


@pytest.mark.requirement("X-10")
async def test_stream_has_no_more_than_fifty_batches_under_way(jetstream: JetStream, fresh_name: str) -> None:
    name = await make_stream(jetstream, fresh_name, allow_atomic=True)
    for number in range(50):
        begun = {"Nats-Batch-Id": f"{fresh_name}-{number}", "Nats-Batch-Sequence": "1"}
        assert (await jetstream.connection.request(f"{name}.a", headers=begun)).payload == b""
    with pytest.raises(RetryableError) as refused:
        await jetstream.publish_batch(drafts(name, 2))
    assert refused.value.err_code == ErrorCode.ATOMIC_PUBLISH_TOO_MANY_INFLIGHT
    assert (await jetstream.streams.info(name)).state.messages == 0


@pytest.mark.requirement("X-10")
async def test_batch_whose_link_is_lost_says_its_fate(start_nats: StartNats, start_relay: StartRelay) -> None:
    async with fragile(start_nats, start_relay) as scene:
        jetstream = JetStream(scene.connection)
        name = await make_stream(jetstream, "ORDERS", allow_atomic=True)
        for number, fate in ((150, "Nothing of the batch is stored"), (3, "is not known")):
            await scene.connection.flush()
            await jetstream.api.level()  # it is asked once per link
            with scene.server.frozen():
                publishing = asyncio.create_task(jetstream.publish_batch(drafts(name, number)))
                await scene.lose()
                with pytest.raises(LinkError, match=fate):
                    await publishing


@pytest.mark.requirement("X-10")
async def test_batch_that_finds_no_link_is_not_stored(start_nats: StartNats) -> None:
    server = start_nats()
    async with Connection(server.url) as connection:
        jetstream = JetStream(connection, timeout_seconds=0.2)
        name = await make_stream(jetstream, "ORDERS", allow_atomic=True)
        await jetstream.publish_batch(drafts(name, 1))
        server.kill()
        with pytest.raises((LinkError, RequestTimeoutError)):
            await connection.flush(0.1)
        with pytest.raises(RequestTimeoutError, match="Nothing of the batch is stored"):
            await jetstream.publish_batch(drafts(name, 3))
