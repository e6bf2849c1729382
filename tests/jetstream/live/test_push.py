"""Push subscriptions on real servers: how they find their consumer, what they notice, and how they end."""

# ruff: noqa: ANN401 - fields of a consumer are given by their names

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
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
from penstock_jetstream.transport.identity import UserPassword
from tests.jetstream.eventually import eventually
from tests.jetstream.scene import until
from tests.testbed.nats.authentication import Access, Login
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer

PATIENCE_SECONDS = 60
SOON_NS = 100_000_000
"""The shortest heartbeat that servers take."""
BEAT_NS = 1_000_000_000
"""The alarm sounds after three: a server that is stopped for a moment does not set it off."""


@dataclass(frozen=True)
class Orders:
    """A stream, and what tests do with it."""

    js: JetStream
    stream: str

    @property
    def subject(self) -> str:
        return f"{self.stream}.eu"

    async def publish(self, *payloads: bytes) -> None:
        for payload in payloads:
            await self.js.publish(self.subject, payload)

    async def fill(self, count: int, size_bytes: int) -> None:
        async with self.js.publisher() as publisher:
            for _ in range(count):
                _ = await publisher.submit(self.subject, bytes(size_bytes))

    async def make_push_consumer(self, name: str = "etl", **config: Any) -> None:
        fields = {"durable_name": name, "ack_policy": "explicit", "deliver_subject": f"deliver.{self.stream}", **config}
        await self.js.consumers.create(self.stream, fields)

    async def consumers(self) -> list[str]:
        return [name async for name in self.js.consumers.names(self.stream)]


async def new_orders(js: JetStream, name: str) -> Orders:
    await js.streams.create({"name": name, "subjects": [f"{name}.>"], "storage": "memory"})
    return Orders(js, name)


@pytest.fixture
async def every_orders(every_jetstream: JetStream, fresh_name: str) -> Orders:
    return await new_orders(every_jetstream, fresh_name)


@pytest.fixture
async def orders(jetstream: JetStream, fresh_name: str) -> Orders:
    return await new_orders(jetstream, fresh_name)


async def take(subscription: Pushing, count: int) -> list[bytes]:
    """Return what the next messages say, and acknowledge them."""
    taken: list[bytes] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(taken) < count:
            message = await anext(subscription)
            message.ack()
            taken.append(message.data)
    return taken


class TestOnEveryServer:
    @pytest.mark.requirement("S-04", "S-11", "S-12", "S-15", "S-16", "S-19")
    async def test_subject_is_enough_and_nothing_is_left_at_the_end(self, every_orders: Orders) -> None:
        await every_orders.publish(b"1", b"2")
        async with every_orders.js.subscribe(every_orders.subject) as subscription:
            assert subscription.stream == every_orders.stream
            assert await every_orders.consumers() == [subscription.consumer]
            message = await anext(subscription)
            message.ack()
            assert (message.subject, message.metadata.stream_sequence) == (every_orders.subject, 1)
            await every_orders.publish(b"3")
            assert await take(subscription, 2) == [b"2", b"3"]
        assert await every_orders.consumers() == []

    @pytest.mark.requirement("S-05", "S-12")
    async def test_existing_consumer_is_bound_and_stays(self, every_orders: Orders) -> None:
        await every_orders.make_push_consumer()
        await every_orders.publish(b"1")
        async with every_orders.js.subscribe(stream=every_orders.stream, bind="etl") as subscription:
            assert await take(subscription, 1) == [b"1"]
        await every_orders.js.consumers.create(every_orders.stream, {"durable_name": "pulled"})
        async with every_orders.js.subscribe_pull(stream=every_orders.stream, bind="pulled") as consumer:
            assert consumer.name == "pulled"
        assert await every_orders.consumers() == ["etl", "pulled"]

    @pytest.mark.requirement("S-06", "S-07", "S-13")
    async def test_members_of_a_queue_that_begin_at_once_share_one_durable(self, every_orders: Orders) -> None:
        subscriptions = [every_orders.js.subscribe(every_orders.subject, queue="workers") for _ in range(3)]
        await asyncio.gather(*(each.__aenter__() for each in subscriptions))
        assert await every_orders.consumers() == ["workers"]
        await every_orders.publish(*(b"%d" % number for number in range(30)))
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
        assert await every_orders.consumers() == []

    @pytest.mark.requirement("S-07", "S-13")
    async def test_of_two_subscribers_without_a_queue_only_one_gets_the_durable(self, every_orders: Orders) -> None:
        subscriptions = [every_orders.js.subscribe(every_orders.subject, durable="etl") for _ in range(2)]
        outcomes = await asyncio.gather(*(each.__aenter__() for each in subscriptions), return_exceptions=True)
        (winner,) = [each for each in outcomes if isinstance(each, Pushing)]
        (refused,) = [each for each in outcomes if not isinstance(each, Pushing)]
        assert isinstance(refused, DuplicateSubscriptionError)
        with pytest.raises(DuplicateSubscriptionError, match="has a subscriber already"):
            await every_orders.js.subscribe(every_orders.subject, durable="etl").__aenter__()
        await every_orders.publish(b"1")
        assert await take(winner, 1) == [b"1"]
        await winner.__aexit__(None, None, None)
        assert await every_orders.consumers() == []

    @pytest.mark.requirement("S-24", "S-25", "S-31")
    @pytest.mark.full
    async def test_heartbeats_hold_off_the_alarm_of_a_deleted_consumer(self, every_orders: Orders) -> None:
        """The naive way waits for ever: a push consumer that is deleted notifies no client."""
        reports: list[JetStreamError] = []
        beats: list[bytes] = []
        async with every_orders.js.subscribe(
            every_orders.subject, config={"idle_heartbeat": BEAT_NS}, on_report=reports.append
        ) as subscription:
            deliver_subject = subscription.config["deliver_subject"]
            every_orders.js.connection.subscribe(deliver_subject, lambda _, __, header, ___: beats.append(header))
            await until(lambda: len(beats) == 4)
            assert reports == []
            await every_orders.js.consumers.delete(every_orders.stream, subscription.consumer)
            with pytest.raises(ConsumerDeletedError, match=every_orders.stream):
                await anext(subscription)
        (report,) = reports
        assert isinstance(report, HeartbeatMissedError)
        assert report.silent_seconds == pytest.approx(3)

    @pytest.mark.requirement("S-27", "S-30", "S-31")
    async def test_slow_reader_slows_the_server_by_flow_control(self, every_orders: Orders) -> None:
        """The naive way answers when the request arrives, and buffers the whole stream.

        While it is not answered, heartbeats tell of the stall; those are not answered either until it is time.
        """
        await every_orders.fill(128, 64 * 1024)
        answers: list[bytes] = []
        every_orders.js.connection.subscribe("$JS.FC.>", lambda subject, *_: answers.append(subject))
        async with every_orders.js.subscribe(
            every_orders.subject, config={"ack_policy": "none", "idle_heartbeat": SOON_NS}
        ) as subscription:
            stalls: list[bytes] = []
            deliver_subject = subscription.config["deliver_subject"]
            every_orders.js.connection.subscribe(deliver_subject, lambda _, __, header, ___: stalls.append(header))
            await until(lambda: any(b"Nats-Consumer-Stalled" in header for header in stalls))
            info = await every_orders.js.consumers.info(every_orders.stream, subscription.consumer)
            assert info.num_pending > 0
            assert answers == []
            async with asyncio.timeout(PATIENCE_SECONDS):
                for _ in range(128):
                    await anext(subscription)
        assert answers
        assert len(answers) == len(set(answers))


class TestWhatCannotBe:
    @pytest.mark.requirement("S-01", "S-02", "S-31")
    async def test_what_contradicts_itself_is_refused_before_anything_is_asked(self, jetstream: JetStream) -> None:
        for options in (
            {"subject": "orders", "queue": "workers", "config": {"flow_control": True}},
            {"durable": "etl"},
            {"subject": "orders", "config": {"flow_control": True, "idle_heartbeat": 0}},
        ):
            with pytest.raises(UsageError):
                jetstream.subscribe(**options)

    @pytest.mark.requirement("S-04", "S-05")
    async def test_subject_or_consumer_that_does_not_exist_is_an_error(self, orders: Orders) -> None:
        with pytest.raises(NoMatchingStreamError, match=r"no\.such\.subject"):
            await orders.js.subscribe("no.such.subject").__aenter__()
        with pytest.raises(SubscriptionError, match="does not exist"):
            await orders.js.subscribe(stream=orders.stream, bind="etl").__aenter__()
        assert await orders.consumers() == []

    @pytest.mark.requirement("S-07", "S-08", "S-09", "S-10")
    async def test_different_consumer_is_refused_and_unchanged(self, orders: Orders, subtests: pytest.Subtests) -> None:
        queue, us, eu = {"deliver_group": "workers"}, f"{orders.stream}.us", f"{orders.stream}.eu"
        cases: list[tuple[dict[str, str | None], dict[str, Any], str]] = [
            ({**queue}, {}, "belongs to the queue workers; this subscription names none"),
            ({**queue}, {"queue": "others"}, "queue workers; this subscription names others"),
            ({}, {"queue": "workers"}, "belongs to no queue; this subscription names workers"),
            ({"filter_subject": us}, {"subject": eu}, f"{us}; this subscription asks for {eu}"),
            ({"deliver_subject": None}, {}, "is there to be pulled from"),
            ({}, {"config": {"ack_wait": 1_000_000_000}}, "ack_wait is 30000000000 there and 1000000000 here"),
        ]
        for number, (config, wanted, words) in enumerate(cases):
            with subtests.test(words):
                name = f"etl{number}"
                await orders.make_push_consumer(name, **config)
                before = (await orders.js.consumers.info(orders.stream, name)).config
                with pytest.raises(ConsumerMismatchError) as caught:
                    await orders.js.subscribe(**{**wanted, "stream": orders.stream, "durable": name}).__aenter__()
                assert words in str(caught.value)
                assert (await orders.js.consumers.info(orders.stream, name)).config == before


class TestMessages:
    @pytest.mark.requirement("S-22", "S-14")
    async def test_messages_that_cannot_be_acknowledged(self, orders: Orders) -> None:
        """An ack does nothing where the policy is none, and is an error if the message comes from no stream."""
        await orders.publish(b"1")
        async with orders.js.subscribe(orders.subject, config={"ack_policy": "none"}) as subscription:
            message = await anext(subscription)
            message.ack()
            assert await message.double_ack() is False
        async with orders.js.subscribe(orders.subject, config={"deliver_policy": "new"}) as subscription:
            orders.js.connection.publish(subscription.config["deliver_subject"], b"by hand")
            message = await anext(subscription)
            assert message.data == b"by hand"
            with pytest.raises(UsageError):
                message.ack()

    @pytest.mark.requirement("S-26", "X-14")
    async def test_consumer_that_is_reset_is_reported_and_goes_on(self, orders: Orders) -> None:
        reports: list[JetStreamError] = []
        await orders.publish(b"1", b"2")
        async with orders.js.subscribe(orders.subject, on_report=reports.append) as subscription:
            assert await take(subscription, 2) == [b"1", b"2"]
            await orders.js.consumers.reset(orders.stream, subscription.consumer, sequence=1)
            assert await take(subscription, 2) == [b"1", b"2"]
        (gap,) = reports
        assert isinstance(gap, GapError)
        assert (gap.expected, gap.got) == (3, 1)

    @pytest.mark.requirement("S-26")
    async def test_delivery_that_is_lost_is_reported_and_comes_again(self, orders: Orders) -> None:
        """It was sent to a link that had just ended. Here, it is sent to somebody else who listened for a moment."""
        reports: list[JetStreamError] = []
        await orders.make_push_consumer(ack_wait=3_000_000_000, idle_heartbeat=SOON_NS)
        async with orders.js.subscribe(stream=orders.stream, bind="etl", on_report=reports.append) as subscription:
            await orders.publish(b"1")
            assert await take(subscription, 1) == [b"1"]
            subscription._subscription.unsubscribe()  # type: ignore[union-attr]  # noqa: SLF001 - the link's fault
            other = orders.js.connection.subscribe(subscription.config["deliver_subject"], lambda *_: None)
            await orders.publish(b"2")
            await until_pending(orders, "etl")
            other.unsubscribe()
            subscription._listen(subscription.config["deliver_subject"], "")  # noqa: SLF001
            assert await take(subscription, 1) == [b"2"]
        assert [(gap.expected, gap.got) for gap in reports if isinstance(gap, GapError)] == [(2, 3)]

    @pytest.mark.requirement("S-32", "S-33")
    async def test_statuses_are_never_handed_out_but_unknown_ones_raised(self, orders: Orders) -> None:
        await orders.publish(b"1")
        async with orders.js.subscribe(orders.subject) as subscription:
            assert await take(subscription, 1) == [b"1"]
            send_statuses(orders.js.connection, subscription, ["404 No Messages", "408 Timeout", "777 Odd"])
            with pytest.raises(UnknownStatusError, match="777"):
                await anext(subscription)
            await orders.publish(b"2")
            assert await take(subscription, 1) == [b"2"]

    @pytest.mark.requirement("S-28")
    async def test_next_answers_flow_control_and_returns_what_comes_after_it(self, orders: Orders) -> None:
        answers: list[bytes] = []
        orders.js.connection.subscribe("flow.control", lambda subject, *_: answers.append(subject))
        async with orders.js.subscribe(orders.subject) as subscription:
            waiting = asyncio.ensure_future(subscription.next(PATIENCE_SECONDS))
            await asyncio.sleep(0)  # calm: a turn of the loop
            frame = wire.publish(
                subscription.config["deliver_subject"].encode(),
                b"",
                reply=b"flow.control",
                header=b"NATS/1.0 100 FlowControl Request\r\n\r\n",
            )
            orders.js.connection.send(frame)
            await orders.publish(b"1")
            message = await waiting
            assert message is not None
            assert message.data == b"1"
        assert answers == [b"flow.control"]

    async def test_slow_reader_without_flow_control_loses_nothing(self, server: NatsServer, orders: Orders) -> None:
        """The naive way drops what does not fit its queue, and calls it a slow consumer (nats.py#298, #372)."""
        await orders.fill(1000, 1000)
        async with (
            Connection(server.url) as connection,
            JetStream(connection).subscribe(
                orders.subject,
                config={"ack_policy": "none", "flow_control": False, "idle_heartbeat": 0},
                buffered_bytes_max=50_000,
            ) as subscription,
        ):
            await until(lambda: subscription.is_paused)
            async with asyncio.timeout(PATIENCE_SECONDS):
                sequences = [(await anext(subscription)).metadata.stream_sequence for _ in range(1000)]
            assert sequences == list(range(1, 1001))
            assert not subscription.is_paused


class TestFunctions:
    async def test_function_gets_each_message_one_after_another(self, orders: Orders) -> None:
        got: list[bytes] = []

        async def on_message(message: Message) -> None:
            await asyncio.sleep(0)  # calm: a turn of the loop
            got.append(message.data)
            message.ack()

        async with orders.js.subscribe(orders.subject, on_message=on_message) as subscription:
            await orders.publish(b"1", b"2", b"3")
            await until(lambda: len(got) == 3)
            with pytest.raises(UsageError, match="on_message"):
                aiter(subscription)
        assert got == [b"1", b"2", b"3"]

    async def test_function_that_fails_ends_the_subscription_with_its_error(self, orders: Orders) -> None:
        def on_message(message: Message) -> None:
            raise LookupError(message.data)

        async with contextlib.AsyncExitStack() as stack:
            subscription = await stack.enter_async_context(orders.js.subscribe(orders.subject, on_message=on_message))
            await orders.publish(b"1")
            with pytest.raises(LookupError):
                await subscription.closed()
            with pytest.raises(LookupError):
                await stack.aclose()
        assert await orders.consumers() == []


class TestTheEnd:
    @pytest.mark.requirement("S-12")
    async def test_drain_hands_out_all_and_then_deletes_what_is_not_kept(self, orders: Orders) -> None:
        await orders.publish(*(b"%d" % number for number in range(50)))
        got: list[bytes] = []
        async with orders.js.subscribe(orders.subject) as subscription:
            async for message in subscription:
                message.ack()
                got.append(message.data)
                if len(got) == 1:
                    await until_pending(orders, subscription.consumer, 49)
                    subscription.drain()
                    assert await orders.consumers() == [subscription.consumer]
            assert await orders.consumers() == []
        assert got == [b"%d" % number for number in range(50)]
        async with orders.js.subscribe(orders.subject, durable="etl", keep=True):
            pass
        assert await orders.consumers() == ["etl"]

    @pytest.mark.requirement("S-12")
    async def test_failed_deletion_is_reported_after_drain_or_raised(self, start_nats: StartNats) -> None:
        reports: list[JetStreamError] = []
        async with reader_without(start_nats, "$JS.API.CONSUMER.DELETE.>") as js:
            async with js.subscribe("orders.eu", on_report=reports.append) as subscription:
                subscription.drain()
                assert await subscription.next(PATIENCE_SECONDS) is None
                await subscription.closed()
            assert len(reports) == 1
            with pytest.raises(JetStreamError, match=r"CONSUMER\.DELETE"):
                async with js.subscribe("orders.eu"):
                    pass

    async def test_what_is_not_handed_out_is_given_back_at_once(self, orders: Orders) -> None:
        """The naive way leaves it until its ack wait is over, here 30 s."""
        await orders.make_push_consumer()
        await orders.publish(b"1", b"2", b"3")
        async with orders.js.subscribe(stream=orders.stream, bind="etl") as subscription:
            assert await take(subscription, 1) == [b"1"]

        async def is_unbound() -> bool:
            return not (await orders.js.consumers.info(orders.stream, "etl")).is_push_bound

        await eventually(is_unbound, "the server notices that there is no subscriber")
        async with orders.js.subscribe(stream=orders.stream, bind="etl") as subscription:
            assert sorted(await take(subscription, 2)) == [b"2", b"3"]

    async def test_it_goes_on_after_its_server_was_killed(self, start_nats: StartNats) -> None:
        server = start_nats()
        async with Connection(server.url) as connection:
            js = JetStream(connection)
            await js.streams.create({"name": "ORDERS", "subjects": ["orders.>"]})
            orders = Orders(js, "ORDERS")
            async with js.subscribe("orders.eu", stream="ORDERS", durable="etl") as subscription:
                await js.publish("orders.eu", b"1")
                assert await take(subscription, 1) == [b"1"]
                await connection.flush()
                server.kill()
                await until(lambda: not connection.is_connected)
                server.start()
                await until(lambda: connection.is_connected)
                await js.publish("orders.eu", b"2")
                while b"2" not in await take(subscription, 1):
                    pass  # the first may come again: its ack was perhaps not yet on disk
            assert await orders.consumers() == []


def send_statuses(connection: Connection, subscription: Pushing, statuses: Sequence[str]) -> None:
    subject = subscription.config["deliver_subject"].encode()
    for status in statuses:
        connection.send(wire.publish(subject, b"", header=f"NATS/1.0 {status}\r\n\r\n".encode()))


async def until_pending(orders: Orders, consumer: str, count: int = 1) -> None:
    async def is_pending() -> bool:
        return (await orders.js.consumers.info(orders.stream, consumer)).num_ack_pending >= count

    await eventually(is_pending, f"{count} messages delivered")


class TestPermissions:
    async def test_forbidden_deliver_subject_is_an_error_and_makes_nothing(self, start_nats: StartNats) -> None:
        """The naive way waits for ever: the server says so on the connection only."""
        async with reader_without(start_nats, listening_to="deliver.>") as js:
            with pytest.raises(AuthenticationError, match=r"deliver\.here"):
                await js.subscribe("orders.eu", config={"deliver_subject": "deliver.here"}).__aenter__()
            assert await Orders(js, "ORDERS").consumers() == []

    async def test_user_who_may_not_read_in_order_gets_an_error(self, start_nats: StartNats) -> None:
        for subject in ("$JS.API.CONSUMER.CREATE.>", "$JS.API.CONSUMER.MSG.NEXT.>"):
            async with reader_without(start_nats, subject) as js:
                with pytest.raises(AuthenticationError, match="ORDERS"):
                    await read_one(js)


async def read_one(js: JetStream) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS), js.ordered("ORDERS") as messages:
        await anext(messages)


class TestPulling:
    """The same workflow leads to consumers that are pulled from."""

    @pytest.mark.requirement("S-04", "S-12")
    async def test_pull_subscription_finds_its_stream_and_leaves_nothing(self, every_orders: Orders) -> None:
        await every_orders.publish(b"1", b"2")
        async with every_orders.js.subscribe_pull(every_orders.subject, durable="etl") as consumer:
            assert [message.data for message in await consumer.fetch(2)] == [b"1", b"2"]
            assert await every_orders.consumers() == ["etl"]
        assert await every_orders.consumers() == []

    @pytest.mark.requirement("S-03", "S-09")
    async def test_pull_subscription_needs_acks_and_a_consumer_that_does_not_push(self, orders: Orders) -> None:
        with pytest.raises(UsageError, match="ack_policy none"):
            orders.js.subscribe_pull("orders.eu", config={"ack_policy": "none"})
        await orders.make_push_consumer()
        with pytest.raises(ConsumerMismatchError, match="pushes its messages"):
            await orders.js.subscribe_pull(stream=orders.stream, durable="etl").__aenter__()

    @pytest.mark.requirement("S-05")
    async def test_user_who_may_not_read_consumer_info_may_still_pull(self, start_nats: StartNats) -> None:
        async with reader_without(start_nats, "$JS.API.CONSUMER.INFO.>") as js:
            await js.consumers.create("ORDERS", {"durable_name": "etl", "ack_policy": "explicit"})
            await js.publish("orders.eu", b"1")
            async with js.subscribe_pull(stream="ORDERS", bind="etl") as consumer:
                assert [message.data for message in await consumer.fetch(1)] == [b"1"]


@asynccontextmanager
async def reader_without(
    start_nats: StartNats, subject: str = "nothing", *, listening_to: str = "nothing"
) -> AsyncIterator[JetStream]:
    """Yield the JetStream of a user who may not publish or subscribe to a subject, on a server with stream ORDERS."""
    login = {"user": "reader", "password": "secret"}
    user = {**login, "permissions": {"publish": {"deny": [subject]}, "subscribe": {"deny": [listening_to]}}}
    server = start_nats(access=Access({"authorization": {"users": [user]}}, Login(login), system=None))
    async with Connection(server.url, auth=UserPassword(**login)) as connection:
        js = JetStream(connection, timeout_seconds=PATIENCE_SECONDS)
        await js.streams.create({"name": "ORDERS", "subjects": ["orders.>"]})
        yield js
