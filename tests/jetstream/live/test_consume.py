"""Consume, on real servers: how messages reach their user, how pulls follow each other, and how it ends."""

import asyncio
import time

import pytest

from penstock_jetstream.client.consuming import Consuming
from penstock_jetstream.client.message import Message
from penstock_jetstream.errors import ClosedError, ConsumerDeletedError, UsageError
from tests.jetstream.scene import SECOND, Scene, eventually, on_every_server, until


async def numbers(messages: Consuming, count: int) -> list[int]:
    """Take so many messages, acknowledge them, and return their numbers."""
    taken: list[int] = []
    async for message in messages:
        message.ack()
        taken.append(int(message.data))
        if len(taken) == count:
            break
    return taken


@pytest.mark.requirement("C-01", "C-30", "C-35", "C-55", "S-22", "C-27")
@on_every_server
@pytest.mark.interpreter
async def test_all_messages_come_in_order_and_once(it: Scene) -> None:
    """Naive: half of a buffer of 1, rounded down, is a threshold that is never reached: one message, and no more."""
    await it.fill(200)
    for name, policy, max_messages in (("c", "explicit", 20), ("none", "none", 20), ("one", "explicit", 1)):
        consumer = await it.create(name, ack_policy=policy)
        async with it.watched_pulls(name) as pulls, consumer.consume(max_messages=max_messages) as messages:
            assert await numbers(messages, 200) == list(range(1, 201))
            assert (await it.info(name)).delivered.consumer_sequence == 200
            assert len({pull.reply.rpartition(".")[0] for pull in pulls}) == 1
    assert it.reports == []


@pytest.mark.requirement("C-33", "C-35", "C-37")
async def test_pull_fills_the_buffer_when_half_of_it_has_been_processed(it: Scene) -> None:
    """A message is processed when the next one is asked for: with the fifth, four of eight are, and four are pulled."""
    async with it.watched_pulls() as pulls:
        consumer = await it.create()
        await it.fill(30)
        async with consumer.consume(max_messages=8) as messages:
            iteration = aiter(messages)
            for _ in range(4):
                await anext(iteration)
            await it.until_pending(8)
            assert [pull.pull["batch"] for pull in pulls] == [8]
            await anext(iteration)
            await until(lambda: len(pulls) == 2)
            assert pulls[1].pull["batch"] == 4


@pytest.mark.requirement("C-22", "C-34", "C-36")
@on_every_server
async def test_buffer_of_bytes_counts_as_the_server_does(it: Scene, fresh_name: str) -> None:
    """Naive: sizes without header block or subject leak budget with each message, until no pull fits any more."""
    async with it.watched_pulls() as pulls:
        consumer = await it.create()
        for number in range(1, 61):
            headers = {"A": "b" * (number % 7)} if number % 3 else {}
            it.connection.publish(f"{fresh_name}.m", b"%-*d" % (number % 50 + 2, number), headers=headers)
        async with consumer.consume(max_bytes=700) as messages:
            assert await numbers(messages, 60) == list(range(1, 61))
        await until(lambda: pulls)
        assert pulls[0].pull["batch"] == 1_000_000
        assert max(pull.pull["max_bytes"] for pull in pulls) == 700
        assert it.reports == []


# Callbacks


@pytest.mark.interpreter
async def test_callback_gets_one_message_after_the_other(it: Scene) -> None:
    consumer = await it.create()
    await it.fill(30)
    began: list[int] = []
    ended: list[int] = []

    async def handle(message: Message) -> None:
        began.append(int(message.data))
        await asyncio.sleep(0)  # calm: others have their turn
        ended.append(int(message.data))
        assert began == ended
        message.ack()

    async with consumer.consume(handle, max_messages=10):
        await until(lambda: len(ended) == 30)
    assert ended == list(range(1, 31))
    seen: list[bytes] = []
    plain = await it.create("plain")
    async with plain.consume(lambda message: seen.append(message.data), max_messages=10):
        await until(lambda: len(seen) == 30)


async def test_exception_of_a_callback_ends_the_consumption_and_one_outside_cancels_the_callback(it: Scene) -> None:
    consumer = await it.create()
    await it.fill(3)

    def fail(message: Message) -> None:
        raise LookupError(message.data.decode().strip())

    with pytest.raises(LookupError, match="1"):  # noqa: PT012 - it is raised where the block is left
        async with consumer.consume(fail) as consuming:
            with pytest.raises(LookupError):
                await consuming.closed()
    again = await consumer.fetch(2, expires_seconds=60)
    assert sorted(int(message.data) for message in again) == [2, 3]  # given back; the first is in doubt

    began, was_cancelled = asyncio.Event(), asyncio.Event()

    async def handle(_: Message) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            was_cancelled.set()
            raise

    other = await it.create("other")
    with pytest.raises(LookupError):  # noqa: PT012 - it is raised in the block
        async with other.consume(handle):
            await began.wait()
            raise LookupError
    assert was_cancelled.is_set()


async def test_callback_may_drain_its_own_consumption_but_not_wait_for_it(it: Scene) -> None:
    consumer = await it.create()
    await it.fill(5)
    seen: list[int] = []

    async def handle(message: Message) -> None:
        seen.append(int(message.data))
        message.ack()
        if len(seen) == 2:
            with pytest.raises(UsageError, match="its own end"):
                await consuming.closed()
            consuming.drain()

    consuming = consumer.consume(handle)
    async with consuming:
        await consuming.closed()
    assert seen == [1, 2, 3, 4, 5]


# Several readers, and readers that come and go


@pytest.mark.interpreter
async def test_each_message_goes_to_one_of_several_tasks(it: Scene) -> None:
    consumer = await it.create()
    await it.fill(100)
    shares: list[list[int]] = [[], [], []]

    async def work(share: list[int]) -> None:
        async for message in consuming:
            share.append(int(message.data))
            await message.double_ack()
            if sum(map(len, shares)) == 100:
                consuming.stop()

    async with consumer.consume(max_messages=10) as consuming, asyncio.TaskGroup() as tasks:
        for share in shares:
            tasks.create_task(work(share))
    assert sorted(number for share in shares for number in share) == list(range(1, 101))
    assert all(shares)


async def test_loop_that_was_left_may_be_followed_by_another(it: Scene) -> None:
    """Naive: the message that the first loop had in hand is never accounted for, and fills the buffer for ever."""
    consumer = await it.create()
    await it.fill(5)
    async with consumer.consume(max_messages=1) as messages:
        assert [(await numbers(messages, 1))[0] for _ in range(5)] == [1, 2, 3, 4, 5]


@pytest.mark.interpreter
async def test_reader_that_was_cancelled_takes_no_message_with_it(it: Scene) -> None:
    consumer = await it.create()
    async with consumer.consume() as messages:
        readers = [asyncio.create_task(numbers(messages, 1)) for _ in range(3)]
        await it.until_waiting()
        readers[0].cancel()
        await it.publish(b"1")
        readers[1].cancel() if not readers[1].done() else None
        await it.publish(b"2")
        done, _ = await asyncio.wait(readers)
        got = [reader.result() for reader in done if not reader.cancelled()]
        rest = await numbers(messages, 2 - len(got)) if len(got) < 2 else []
        assert sorted([number for each in got for number in each] + rest) == [1, 2]


async def test_loop_that_never_awaits_leaves_turns_to_others(it: Scene) -> None:
    """Naive: a full buffer is handed out without a turn of the event loop: neither acks nor pulls leave meanwhile."""
    consumer = await it.create()
    await it.fill(2000)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)  # calm: a turn of the loop
            turns += 1

    async with consumer.consume(max_messages=1000) as messages:
        await it.until_pending(1000)
        counting = asyncio.create_task(count_turns())
        iteration = aiter(messages)
        await anext(iteration)
        before = turns
        for _ in range(900):
            (await anext(iteration)).ack()
        assert turns - before >= 10
        counting.cancel()


# How it ends


@pytest.mark.requirement("C-04")
@on_every_server
async def test_stop_gives_back_what_is_buffered_at_once(it: Scene) -> None:
    """Naive: what is discarded waits for its ack wait to be over, here 30 s, before anyone else gets it."""
    consumer = await it.create()
    await it.fill(20)
    async with consumer.consume() as messages:
        iteration = aiter(messages)
        (await anext(iteration)).ack()
        await it.until_pending(19)
        messages.stop()
        with pytest.raises(StopAsyncIteration):
            await anext(iteration)
        await messages.closed()
    again = await consumer.fetch(19, expires_seconds=60)
    assert {message.metadata.delivered for message in again} == {2}
    assert sorted(int(message.data) for message in again) == list(range(2, 21))


@pytest.mark.requirement("C-04")
async def test_messages_on_their_way_when_a_consumption_is_stopped_are_given_back(it: Scene) -> None:
    """Naive: unsubscribing at once drops what the server has sent already, unseen, until its ack wait is over."""
    consumer = await it.create()
    await it.fill(500, size_bytes=2000)
    async with consumer.consume():
        for _ in range(3):
            await asyncio.sleep(0)  # calm: the pull leaves
        time.sleep(0.05)  # noqa: ASYNC251 # calm: the loop stands still, as under a user's work, while the answer comes
    again: list[Message] = []
    while len(again) < 500:
        more = await consumer.fetch(500 - len(again), expires_seconds=10)
        assert more
        again += more


@pytest.mark.requirement("C-04")
@on_every_server
async def test_drain_hands_out_what_is_buffered_or_on_its_way_and_ends(it: Scene) -> None:
    consumer = await it.create()
    await it.fill(100)
    taken: list[int] = []
    async with consumer.consume(max_messages=20) as messages:
        async for message in messages:
            taken.append(int(message.data))
            message.ack()
            if len(taken) == 5:
                messages.drain()
        await messages.closed()
    await it.connection.flush()
    await it.until(lambda info: (info.num_ack_pending, info.num_waiting) == (0, 0))
    info = await it.info()
    assert taken == list(range(1, len(taken) + 1))
    assert 5 < len(taken) <= 40
    assert info.num_redelivered == 0
    assert info.delivered.stream_sequence == len(taken)


@pytest.mark.requirement("C-04")
async def test_drained_consumption_ends_with_an_empty_buffer_and_after_its_last_message(it: Scene) -> None:
    """Naive: it waits for the last message to be processed, which no further request for a message shows."""
    consumer = await it.create()
    async with consumer.consume() as messages:
        await it.until_waiting()
        messages.drain()
        assert await numbers(messages, 1) == []
    await it.until_waiting(0)
    await it.fill(100)
    async with consumer.consume() as messages:
        await it.until_pending(100)
        messages.drain()
        assert await numbers(messages, 100) == list(range(1, 101))
        await messages.closed()


@pytest.mark.requirement("C-40")
@on_every_server
async def test_deleted_consumer_ends_with_an_error_after_what_was_buffered(it: Scene) -> None:
    consumer = await it.create()
    await it.fill(3)
    async with consumer.consume() as messages:
        await it.until_pending(3)
        await consumer.delete()
        await until(lambda: messages.is_over)
        iteration = aiter(messages)
        assert [int((await anext(iteration)).data) for _ in range(3)] == [1, 2, 3]
        for _ in range(2):
            with pytest.raises(ConsumerDeletedError, match=f"Consumer c of stream {it.stream}"):
                await anext(iteration)
        with pytest.raises(ConsumerDeletedError):
            await messages.closed()
    consumer = await it.create(deliver_policy="new")
    with pytest.raises(ConsumerDeletedError):  # noqa: PT012 - with a callback it is raised where the block is left
        async with consumer.consume(Message.ack) as consuming:
            await it.until_waiting()
            await consumer.delete()
            await until(lambda: consuming.is_over)


async def test_consumption_is_entered_once_before_it_is_read_and_ends_with_its_connection(
    it: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    consumer = await it.create()
    consuming = consumer.consume()
    with pytest.raises(UsageError, match="async with"):
        aiter(consuming)
    async with consuming:
        with pytest.raises(UsageError, match="begun before"):
            await consuming.__aenter__()
    with pytest.raises(UsageError, match="begun before"):
        await consuming.__aenter__()
    async with consumer.consume(Message.ack) as served:
        with pytest.raises(UsageError, match="on_message"):
            aiter(served)
    await it.until_waiting(0)
    async with consumer.consume() as messages, consumer.lane() as lane:
        reading = asyncio.create_task(numbers(messages, 1))
        await it.until_waiting(2)
        await it.connection.close()
        with pytest.raises(ClosedError, match="was closed while consumer c"):
            await reading
        with pytest.raises(ClosedError, match="was closed while consumer c"):
            await anext(lane)
    assert "A listener failed" not in caplog.text


async def test_nothing_of_a_consumption_is_left_when_it_was_left(it: Scene) -> None:
    consumer = await it.create()
    await it.fill(20)
    before = asyncio.all_tasks()
    for _ in range(3):
        async with consumer.consume(ack_wait_seconds=30) as messages:
            await numbers(messages, 2)
    assert asyncio.all_tasks() == before
    await it.connection.flush()
    await it.until_waiting(0)
    left = it.connection._subscriptions  # noqa: SLF001 - nothing else shows what would be a leak
    assert len(list(left)) == 1  # of requests


@pytest.mark.requirement("V-08", "P-16")
async def test_consumption_keeps_a_consumer_alive_that_the_server_drops_when_idle(it: Scene) -> None:
    for name in ("c", "idle1", "idle2"):
        fields = {"name": name, "ack_policy": "explicit", "inactive_threshold": 2 * SECOND}
        await it.js.consumers.create(it.stream, fields)

    async def is_alone() -> bool:
        return {name async for name in it.js.consumers.names(it.stream)} == {"c"}

    async with it.consumer().consume(max_messages=10) as messages:
        await eventually(is_alone, "idle consumers are dropped")
        await it.fill(1)
        assert await numbers(messages, 1) == [1]
