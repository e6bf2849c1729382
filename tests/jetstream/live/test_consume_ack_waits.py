"""Buffered messages and their ack waits: what users complain of, as tests that fail with the naive behaviour."""

import asyncio

import pytest

from penstock_jetstream.errors import AckWaitOverError
from tests.jetstream.scene import SECOND, Scene, on_newest_servers, read


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
