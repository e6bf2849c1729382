"""Push subscriptions on real servers: how they find their consumer, what they notice, and how they end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.client.message import Message
from penstock_jetstream.client.pushing import Pushing
from penstock_jetstream.core import wire
from penstock_jetstream.errors import (
    AuthenticationError,
    ConsumerDeletedError,
    ConsumerMismatchError,
    DuplicateSubscriptionError,
    GapError,
    HeartbeatMissedError,
    JetStreamError,
    NoMatchingStreamError,
    SubscriptionError,
    UnknownStatusError,
    UsageError,
)
from penstock_jetstream.transport.connection import Connection
from tests.jetstream.scene import Scene, on_every_server, scene, until
from tests.testbed.nats.fixtures import StartNats

PATIENCE_SECONDS = 60
SOON_NS = 100_000_000
"""The shortest heartbeat that servers take."""
BEAT_NS = 1_000_000_000
"""The alarm sounds after three: a server that is stopped for a moment does not set it off."""


async def take(subscription: Pushing, count: int) -> list[bytes]:
    """Return the payloads of the next messages, and acknowledge them."""
    taken: list[bytes] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(taken) < count:
            message = await anext(subscription)
            message.ack()
            taken.append(message.data)
    return taken


async def make_push_consumer(it: Scene) -> None:
    await it.create("etl", deliver_subject=f"deliver.{it.stream}")


@pytest.mark.requirement("S-04", "S-11", "S-12", "S-15", "S-16", "S-19")
@on_every_server
async def test_subject_is_enough_and_nothing_is_left_at_the_end(it: Scene) -> None:
    await it.publish(b"1", b"2")
    async with it.js.subscribe(it.subject) as subscription:
        assert subscription.stream == it.stream
        assert await it.consumer_names() == [subscription.consumer]
        message = await anext(subscription)
        message.ack()
        assert (message.subject, message.metadata.stream_sequence) == (it.subject, 1)
        await it.publish(b"3")
        assert await take(subscription, 2) == [b"2", b"3"]
    assert await it.consumer_names() == []


@pytest.mark.requirement("S-05", "S-12")
@on_every_server
async def test_existing_consumer_is_bound_and_stays(it: Scene) -> None:
    await make_push_consumer(it)
    await it.publish(b"1")
    async with it.js.subscribe(stream=it.stream, bind="etl") as subscription:
        assert await take(subscription, 1) == [b"1"]
    await it.create("pulled")
    async with it.js.subscribe_pull(stream=it.stream, bind="pulled") as consumer:
        assert consumer.name == "pulled"
    assert await it.consumer_names() == ["etl", "pulled"]


@pytest.mark.requirement("S-06", "S-07", "S-13")
@on_every_server
async def test_members_of_a_queue_that_begin_at_once_share_one_durable(it: Scene) -> None:
    subscriptions = [it.js.subscribe(it.subject, queue="workers") for _ in range(3)]
    await asyncio.gather(*(each.__aenter__() for each in subscriptions))
    assert await it.consumer_names() == ["workers"]
    await it.publish(*(b"%d" % number for number in range(30)))
    received: list[bytes] = []

    async def work(subscription: Pushing) -> None:
        async for message in subscription:
            message.ack()
            received.append(message.data)

    workers = [asyncio.ensure_future(work(each)) for each in subscriptions]
    await until(lambda: len(received) == 30)
    for each in subscriptions:
        await each.__aexit__(None, None, None)
    await asyncio.gather(*workers)
    assert sorted(received) == sorted(b"%d" % number for number in range(30))
    assert await it.consumer_names() == []


@pytest.mark.requirement("S-07", "S-13")
@on_every_server
async def test_of_two_subscribers_without_a_queue_only_one_gets_the_durable(it: Scene) -> None:
    subscriptions = [it.js.subscribe(it.subject, durable="etl") for _ in range(2)]
    outcomes = await asyncio.gather(*(each.__aenter__() for each in subscriptions), return_exceptions=True)
    (winner,) = [each for each in outcomes if isinstance(each, Pushing)]
    (refused,) = [each for each in outcomes if not isinstance(each, Pushing)]
    assert isinstance(refused, DuplicateSubscriptionError)
    with pytest.raises(DuplicateSubscriptionError, match="has a subscriber already"):
        await it.js.subscribe(it.subject, durable="etl").__aenter__()
    await it.publish(b"1")
    assert await take(winner, 1) == [b"1"]
    await winner.__aexit__(None, None, None)
    assert await it.consumer_names() == []


@pytest.mark.requirement("S-24", "S-25", "S-31")
@pytest.mark.full
@on_every_server
async def test_heartbeats_hold_off_the_alarm_of_a_deleted_consumer(it: Scene) -> None:
    """Naive: waits for ever, as a push consumer that is deleted notifies no client."""
    beats: list[bytes] = []
    config = {"idle_heartbeat": BEAT_NS}
    async with it.js.subscribe(it.subject, config=config, on_report=it.reports.append) as subscription:
        deliver_subject = subscription.config["deliver_subject"]
        it.connection.subscribe(deliver_subject, lambda _, __, header, ___: beats.append(header))
        await until(lambda: len(beats) == 4)
        assert it.reports == []
        await it.js.consumers.delete(it.stream, subscription.consumer)
        with pytest.raises(ConsumerDeletedError, match=it.stream):
            await anext(subscription)
    (report,) = it.reports
    assert isinstance(report, HeartbeatMissedError)
    assert report.silent_seconds == pytest.approx(3)


@pytest.mark.requirement("S-27", "S-30", "S-31")
@on_every_server
async def test_slow_reader_slows_the_server_by_flow_control(it: Scene) -> None:
    """Naive: answers when the request arrives, and buffers the whole stream.

    While it is not answered, heartbeats tell of the stall; those are not answered either until it is time.
    """
    await it.fill(128, 64 * 1024)
    answers: list[bytes] = []
    it.connection.subscribe("$JS.FC.>", lambda subject, *_: answers.append(subject))
    config = {"ack_policy": "none", "idle_heartbeat": SOON_NS}
    async with it.js.subscribe(it.subject, config=config) as subscription:
        stalls: list[bytes] = []
        deliver_subject = subscription.config["deliver_subject"]
        it.connection.subscribe(deliver_subject, lambda _, __, header, ___: stalls.append(header))
        await until(lambda: any(b"Nats-Consumer-Stalled" in header for header in stalls))
        assert (await it.info(subscription.consumer)).num_pending > 0
        assert answers == []
        async with asyncio.timeout(PATIENCE_SECONDS):
            for _ in range(128):
                await anext(subscription)
    assert answers
    assert len(answers) == len(set(answers))


@pytest.mark.requirement("S-04", "S-05")
async def test_subject_or_consumer_that_does_not_exist_is_an_error(it: Scene) -> None:
    with pytest.raises(NoMatchingStreamError, match=r"no\.such\.subject"):
        await it.js.subscribe("no.such.subject").__aenter__()
    with pytest.raises(SubscriptionError, match="does not exist"):
        await it.js.subscribe(stream=it.stream, bind="etl").__aenter__()
    assert await it.consumer_names() == []


@pytest.mark.requirement("S-22", "S-14")
async def test_messages_that_cannot_be_acknowledged(it: Scene) -> None:
    """An ack does nothing where the policy is none, and is an error if the message comes from no stream."""
    await it.publish(b"1")
    async with it.js.subscribe(it.subject, config={"ack_policy": "none"}) as subscription:
        message = await anext(subscription)
        message.ack()
        assert await message.double_ack() is False
    async with it.js.subscribe(it.subject, config={"deliver_policy": "new"}) as subscription:
        it.connection.publish(subscription.config["deliver_subject"], b"by hand")
        message = await anext(subscription)
        assert message.data == b"by hand"
        with pytest.raises(UsageError):
            message.ack()


@pytest.mark.requirement("S-26", "X-14")
async def test_consumer_that_is_reset_is_reported_and_goes_on(it: Scene) -> None:
    await it.publish(b"1", b"2")
    async with it.js.subscribe(it.subject, on_report=it.reports.append) as subscription:
        assert await take(subscription, 2) == [b"1", b"2"]
        await it.js.consumers.reset(it.stream, subscription.consumer, sequence=1)
        assert await take(subscription, 2) == [b"1", b"2"]
    (gap,) = it.reports
    assert isinstance(gap, GapError)
    assert (gap.expected, gap.got) == (3, 1)


@pytest.mark.requirement("S-32", "S-33")
async def test_statuses_are_never_handed_out_but_unknown_ones_raised(it: Scene) -> None:
    async with it.js.subscribe(it.subject) as subscription:
        subject = subscription.config["deliver_subject"].encode()
        for status in (b"404 No Messages", b"408 Timeout", b"777 Odd"):
            it.connection.send(wire.publish(subject, b"", header=b"NATS/1.0 %b\r\n\r\n" % status))
        with pytest.raises(UnknownStatusError, match="777"):
            await anext(subscription)
        await it.publish(b"1")
        assert await take(subscription, 1) == [b"1"]


@pytest.mark.requirement("S-28")
async def test_next_answers_flow_control_and_returns_what_comes_after_it(it: Scene) -> None:
    answers: list[bytes] = []
    it.connection.subscribe("flow.control", lambda subject, *_: answers.append(subject))
    async with it.js.subscribe(it.subject) as subscription:
        waiting = asyncio.ensure_future(subscription.next(PATIENCE_SECONDS))
        await asyncio.sleep(0)  # calm: a turn of the loop
        subject, header = subscription.config["deliver_subject"].encode(), b"NATS/1.0 100 FlowControl Request\r\n\r\n"
        it.connection.send(wire.publish(subject, b"", reply=b"flow.control", header=header))
        await it.publish(b"1")
        message = await waiting
        assert message is not None
        assert message.data == b"1"
    assert answers == [b"flow.control"]


async def test_slow_reader_without_flow_control_loses_nothing(it: Scene) -> None:
    """Naive: drops what does not fit its queue, and calls it a slow consumer (nats.py#298, #372)."""
    await it.fill(1000, 1000)
    config = {"ack_policy": "none", "flow_control": False, "idle_heartbeat": 0}
    async with (
        Connection(it.url) as connection,
        JetStream(connection).subscribe(it.subject, config=config, buffered_bytes_max=50_000) as subscription,
    ):
        await until(lambda: subscription.is_paused)
        async with asyncio.timeout(PATIENCE_SECONDS):
            sequences = [(await anext(subscription)).metadata.stream_sequence for _ in range(1000)]
        assert sequences == list(range(1, 1001))
        assert not subscription.is_paused


async def test_function_gets_each_message_one_after_another(it: Scene) -> None:
    got: list[bytes] = []

    async def on_message(message: Message) -> None:
        await asyncio.sleep(0)  # calm: a turn of the loop
        got.append(message.data)
        message.ack()

    async with it.js.subscribe(it.subject, on_message=on_message) as subscription:
        await it.publish(b"1", b"2", b"3")
        await until(lambda: len(got) == 3)
        with pytest.raises(UsageError, match="on_message"):
            aiter(subscription)
    assert got == [b"1", b"2", b"3"]


async def test_function_that_fails_ends_the_subscription_with_its_error(it: Scene) -> None:
    def on_message(message: Message) -> None:
        raise LookupError(message.data)

    async with contextlib.AsyncExitStack() as stack:
        subscription = await stack.enter_async_context(it.js.subscribe(it.subject, on_message=on_message))
        await it.publish(b"1")
        with pytest.raises(LookupError):
            await subscription.closed()
        with pytest.raises(LookupError):
            await stack.aclose()
    assert await it.consumer_names() == []


@pytest.mark.requirement("S-12")
async def test_drain_hands_out_all_and_then_deletes_what_is_not_kept(it: Scene) -> None:
    await it.publish(*(b"%d" % number for number in range(50)))
    got: list[bytes] = []
    async with it.js.subscribe(it.subject) as subscription:
        async for message in subscription:
            message.ack()
            got.append(message.data)
            if len(got) == 1:
                await it.until(lambda info: info.num_ack_pending >= 49, subscription.consumer)
                subscription.drain()
                assert await it.consumer_names() == [subscription.consumer]
        assert await it.consumer_names() == []
    assert got == [b"%d" % number for number in range(50)]
    async with it.js.subscribe(it.subject, durable="etl", keep=True):
        pass
    assert await it.consumer_names() == ["etl"]


async def test_what_is_not_handed_out_is_given_back_at_once(it: Scene) -> None:
    """Naive: leaves it until its ack wait is over, here 30 s."""
    await make_push_consumer(it)
    await it.publish(b"1", b"2", b"3")
    async with it.js.subscribe(stream=it.stream, bind="etl") as subscription:
        assert await take(subscription, 1) == [b"1"]
    await it.until(lambda info: not info.is_push_bound, "etl")
    async with it.js.subscribe(stream=it.stream, bind="etl") as subscription:
        assert sorted(await take(subscription, 2)) == [b"2", b"3"]


async def test_subscription_goes_on_after_its_server_was_killed(start_nats: StartNats) -> None:
    server = start_nats()
    async with scene(server.url, "S", storage="file") as it:
        async with it.js.subscribe(it.subject, stream="S", durable="etl") as subscription:
            await it.publish(b"1")
            assert await take(subscription, 1) == [b"1"]
            await it.connection.flush()
            server.kill()
            await until(lambda: not it.connection.is_connected)
            server.start()
            await until(lambda: it.connection.is_connected)
            await it.publish(b"2")
            while b"2" not in await take(subscription, 1):
                pass  # the first may come again: its ack was perhaps not yet on disk
        assert await it.consumer_names() == []


# The same workflow leads to consumers that are pulled from


@pytest.mark.requirement("S-04", "S-12")
@on_every_server
async def test_pull_subscription_finds_its_stream_and_leaves_nothing(it: Scene) -> None:
    await it.publish(b"1", b"2")
    async with it.js.subscribe_pull(it.subject, durable="etl") as consumer:
        assert [message.data for message in await consumer.fetch(2)] == [b"1", b"2"]
        assert await it.consumer_names() == ["etl"]
    assert await it.consumer_names() == []


@pytest.mark.requirement("S-03", "S-09")
async def test_pull_subscription_needs_acks_and_a_consumer_that_does_not_push(it: Scene) -> None:
    with pytest.raises(UsageError, match="ack_policy none"):
        it.js.subscribe_pull(it.subject, config={"ack_policy": "none"})
    await make_push_consumer(it)
    with pytest.raises(ConsumerMismatchError, match="pushes its messages"):
        await it.js.subscribe_pull(stream=it.stream, durable="etl").__aenter__()


# Permissions


@asynccontextmanager
async def scene_without(start_nats: StartNats, **denied: str) -> AsyncIterator[Scene]:
    """Yield the scene of a user who may not `publish` or `subscribe` to a subject."""
    permissions = {verb: {"deny": [subject]} for verb, subject in denied.items()}
    user: dict[str, Any] = {"user": "reader", "password": "secret", "permissions": permissions}
    server = start_nats(extra={"authorization": {"users": [user]}})
    async with scene(server.url.replace("//", "//reader:secret@"), "S") as it:
        yield it


@pytest.mark.requirement("S-12")
async def test_failed_deletion_is_reported_after_drain_or_raised(start_nats: StartNats) -> None:
    async with scene_without(start_nats, publish="$JS.API.CONSUMER.DELETE.>") as it:
        async with it.js.subscribe(it.subject, on_report=it.reports.append) as subscription:
            subscription.drain()
            assert await subscription.next(PATIENCE_SECONDS) is None
            await subscription.closed()
        assert len(it.reports) == 1
        with pytest.raises(JetStreamError, match=r"CONSUMER\.DELETE"):
            async with it.js.subscribe(it.subject):
                pass


async def test_forbidden_deliver_subject_is_an_error_and_makes_nothing(start_nats: StartNats) -> None:
    """Naive: waits for ever, as the server says so on the connection only."""
    async with scene_without(start_nats, subscribe="deliver.>") as it:
        with pytest.raises(AuthenticationError, match=r"deliver\.here"):
            await it.js.subscribe(it.subject, config={"deliver_subject": "deliver.here"}).__aenter__()
        assert await it.consumer_names() == []


async def test_user_who_may_not_read_in_order_gets_an_error(start_nats: StartNats) -> None:
    async def read_one(it: Scene) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), it.js.ordered("S") as messages:
            await anext(messages)

    for subject in ("$JS.API.CONSUMER.CREATE.>", "$JS.API.CONSUMER.MSG.NEXT.>"):
        async with scene_without(start_nats, publish=subject) as it:
            with pytest.raises(AuthenticationError, match=r"CREATE\.S\.|of stream S"):
                await read_one(it)


@pytest.mark.requirement("S-05")
async def test_user_who_may_not_read_consumer_info_may_still_pull(start_nats: StartNats) -> None:
    async with scene_without(start_nats, publish="$JS.API.CONSUMER.INFO.>") as it:
        await it.create("etl")
        await it.publish(b"1")
        async with it.js.subscribe_pull(stream="S", bind="etl") as consumer:
            assert [message.data for message in await consumer.fetch(1)] == [b"1"]
