"""What a message says of itself, what becomes of it when it is answered, and how its ack wait is kept."""

import asyncio
import time
from collections.abc import Callable

import pytest

from penstock_jetstream.client.message import Message
from penstock_jetstream.errors import (
    AckWaitOverError,
    MessageTooLargeError,
    NoRespondersError,
    ProtocolError,
    UsageError,
)
from tests.jetstream.scene import SECOND, Scene, on_every_server, on_newest_servers, read, scene, until
from tests.testbed.nats.fixtures import StartNats

FINAL: dict[str, Callable[[Message], None]] = {
    "ack": Message.ack,
    "term": Message.term,
    "reason": lambda message: message.term("cannot be read: no such région"),
}


@pytest.mark.requirement("S-18", "S-20", "S-19")
@on_every_server
async def test_acked_or_terminated_message_is_done(it: Scene, subtests: pytest.Subtests) -> None:
    await it.fill(2)
    for name, answer in FINAL.items():
        with subtests.test(name):
            consumer = await it.create(name)
            for message in await consumer.fetch(2):
                answer(message)
            await it.until(lambda info: info.ack_floor.stream_sequence == 2 and info.num_ack_pending == 0, name)


@pytest.mark.requirement("S-20")
@on_every_server
async def test_nak_has_the_message_redelivered_at_once_or_after_a_delay(it: Scene) -> None:
    consumer, message = await it.one_message()
    message.nak()
    (message,) = await consumer.fetch(1)
    began = asyncio.get_running_loop().time()
    message.nak(0.1)
    (message,) = await consumer.fetch(1)
    assert asyncio.get_running_loop().time() - began >= 0.1
    assert message.metadata.delivered == 3


@pytest.mark.requirement("S-21", "S-22")
@on_every_server
async def test_first_final_answer_is_sent_alone_and_none_where_the_policy_is_none(it: Scene) -> None:
    async with it.watched("$JS.ACK.>") as seen:

        def answers() -> list[bytes]:
            return [each.payload for each in seen if f".{it.stream}." in each.subject]

        _, message = await it.one_message()
        unacknowledged = await (await it.create("none", ack_policy="none")).next()
        assert unacknowledged is not None
        unacknowledged.ack()
        unacknowledged.nak()
        assert not await unacknowledged.double_ack()
        message.in_progress()
        message.ack()
        message.nak()
        message.term("late")
        message.in_progress()
        assert not await message.double_ack()
        await it.connection.flush()
        await until(lambda: len(answers()) == 2)
        assert answers() == [b"+WPI", b"+ACK"]


@pytest.mark.requirement("S-20", "S-23")
@on_every_server
async def test_double_ack_returns_when_taken_and_may_be_repeated_after_an_error(it: Scene) -> None:
    consumer, message = await it.one_message()
    assert await message.double_ack()
    assert (await it.info()).num_ack_pending == 0
    await it.fill(1)
    (message,) = await consumer.fetch(1)
    await consumer.delete()
    for _ in range(2):
        with pytest.raises(NoRespondersError):
            await message.double_ack()
    assert not message.is_settled


@pytest.mark.requirement("P-07", "S-14", "S-15", "S-16", "S-19")
@on_every_server
async def test_message_tells_where_it_stands(it: Scene, fresh_name: str) -> None:
    consumer = await it.create()
    await it.fill(3)
    first, second = await consumer.fetch(2)
    first.nak()
    third, again = sorted(await consumer.fetch(2), key=lambda message: -int(message.data))
    assert (third.subject, int(third.data), int(again.data)) == (f"{fresh_name}.m", 3, 1)
    token = third.metadata
    assert (token.stream, token.consumer, token.domain) == (fresh_name, "c", None)
    assert (token.stream_sequence, token.pending, token.delivered) == (3, 0, 1)
    assert second.metadata.pending == 1
    assert abs(token.timestamp_ns / 1e9 - time.time()) < 60  # calm: the server stamps messages with the wall clock
    assert (again.metadata.delivered, again.metadata.stream_sequence) == (2, 1)
    assert {third.metadata.consumer_sequence, again.metadata.consumer_sequence} == {3, 4}


@pytest.mark.requirement("S-16", "S-17", "S-19", "X-12")
@pytest.mark.parametrize("js_ack_fc_v2", [False, True])
async def test_only_the_second_version_of_tokens_names_the_domain(start_nats: StartNats, *, js_ack_fc_v2: bool) -> None:
    async with scene(start_nats(domain="hub", js_ack_fc_v2=js_ack_fc_v2).url, "S") as it:
        consumer = await it.create()
        await it.fill(1)
        (message,) = await consumer.fetch(1)
        assert message.metadata.domain == ("hub" if js_ack_fc_v2 else None)
        assert await message.double_ack()


@pytest.mark.requirement("C-36")
@on_every_server
async def test_size_of_a_message_is_what_the_server_counts(it: Scene) -> None:
    """Naive: characters of header names and values: 2 for `A: b`, where the block is 18 bytes longer with it."""
    consumer = await it.create()
    await it.publish(bytes(50))
    await it.publish(bytes(50), headers={"A": "b"})
    await it.publish("é".encode(), headers={"G": "weiß"})
    for message in await consumer.fetch(3):
        message.nak()
        with pytest.raises(MessageTooLargeError):
            await consumer.fetch(max_bytes=message.size_bytes - 1, expires_seconds=60)
        (same,) = await consumer.fetch(max_bytes=message.size_bytes, expires_seconds=60)
        assert same.metadata.stream_sequence == message.metadata.stream_sequence
        await same.double_ack()


@pytest.mark.requirement("S-14", "S-16")
async def test_stray_message_is_no_message_of_a_stream_and_harms_no_other(it: Scene) -> None:
    """Someone publishes to a consumption's inbox. (With a reply in $JS.ACK the server would not even pass it on.)"""
    consumer = await it.create()
    async with it.watched_pulls() as pulls, consumer.consume() as messages:
        await until(lambda: pulls)
        it.connection.publish(pulls[0].reply, b"stray", reply="elsewhere")
        it.connection.publish(pulls[0].reply, b"not even a reply")
        await it.publish(b"true")
        iteration = aiter(messages)
        stray, true = await anext(iteration), await anext(iteration)
        with pytest.raises(ProtocolError, match="no ack token"):
            _ = stray.metadata
        with pytest.raises(UsageError, match="comes from no stream"):
            stray.ack()
        assert await true.double_ack()
        assert [type(report) for report in it.reports] == [ProtocolError]


@pytest.mark.requirement("V-01")
@on_newest_servers
async def test_what_waited_longer_than_its_ack_wait_is_not_handed_out(it: Scene) -> None:
    """Naive: the rest of the buffer is worked on here and by the client that it was redelivered to."""
    consumer = await it.create(ack_wait=2 * SECOND)
    await it.fill(5)
    deliveries: dict[int, int] = {}
    async with consumer.consume(ack_wait_seconds=2, keep_alive=False) as messages:
        async for message in messages:
            deliveries[message.metadata.stream_sequence] = message.metadata.delivered
            message.ack()
            if len(deliveries) == 1:
                await it.until(lambda info: info.num_pending == 0)
                await asyncio.sleep(2.1)  # calm: the work on the first takes longer than the ack wait
            if len(deliveries) == 5:
                break
    (first, *others) = deliveries.values()
    assert first == 1
    assert all(delivered > 1 for delivered in others)
    assert isinstance(it.reports[0], AckWaitOverError)
    assert it.reports[0].messages >= 4


@pytest.mark.requirement("V-01")
@pytest.mark.full
async def test_buffered_messages_are_kept_alive_while_their_user_works(it: Scene) -> None:
    """Naive: ten messages of 600 ms each, an ack wait of 5 s: some are delivered twice."""
    consumer = await it.create(ack_wait=5 * SECOND)
    await it.fill(10)
    await consumer.info()  # tells the ack wait
    handled = []
    async with consumer.consume() as messages:
        async for message in messages:
            handled.append(message.metadata.delivered)
            await asyncio.sleep(0.6)  # calm: the work
            await message.double_ack()
            if len(handled) == 10:
                break
    assert handled == [1] * 10
    assert (await it.info()).delivered.consumer_sequence == 10
    assert it.reports == []


@pytest.mark.requirement("V-01")
async def test_user_who_hangs_does_not_keep_buffered_messages_from_others(it: Scene) -> None:
    """Naive: renewing for ever what this user will never work on."""
    consumer = await it.create(ack_wait=SECOND // 5)
    await it.fill(5)
    async with consumer.consume(ack_wait_seconds=0.2, max_messages=5) as messages:
        iteration = aiter(messages)
        await anext(iteration)  # and here it hangs
        await it.until_pending(5)
        async with it.consumer().consume() as elsewhere:
            await read(elsewhere, set(), 5)
