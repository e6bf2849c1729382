"""Buffered messages and their ack waits: what users complain of, as tests that fail with the naive behaviour."""

import asyncio

import pytest

from penstock_jetstream.errors import (
    AckWaitOverError,
)
from tests.jetstream.scene import SECOND, Scene, on_newest_servers, read


@pytest.mark.requirement("V-01")
@on_newest_servers
async def test_what_waited_for_longer_than_its_ack_wait_is_not_handed_out(it: Scene) -> None:
    """Naive: the rest of the buffer is worked on here and by whom it was delivered to meanwhile."""
    consumer = await it.create(ack_wait=2 * SECOND)
    await it.fill(5)
    deliveries: dict[int, int] = {}
    async with consumer.consume(ack_wait_seconds=2, keep_alive=False) as messages:
        async for message in messages:
            deliveries[message.metadata.stream_sequence] = message.metadata.delivered
            message.ack()
            if len(deliveries) == 1:
                await asyncio.sleep(2.1)  # so long it took to work on the first
            if len(deliveries) == 5:
                break
    (first, *others) = deliveries.values()
    assert first == 1
    assert all(delivered > 1 for delivered in others)
    assert isinstance(it.reports[0], AckWaitOverError)
    assert it.reports[0].messages >= 4


@pytest.mark.requirement("V-01")
async def test_what_is_buffered_is_kept_alive_while_its_user_works(it: Scene) -> None:
    """Naive: ten messages of 300 ms each, an ack wait of 2 s: some are delivered twice."""
    consumer = await it.create(ack_wait=2 * SECOND)
    await it.fill(10)
    await consumer.info()  # tells the ack wait
    handled = []
    async with consumer.consume() as messages:
        async for message in messages:
            handled.append(message.metadata.delivered)
            await asyncio.sleep(0.3)  # the work
            await message.double_ack()
            if len(handled) == 10:
                break
    assert handled == [1] * 10
    assert (await it.info()).delivered.consumer_sequence == 10
    assert it.reports == []


@pytest.mark.requirement("V-01")
async def test_a_user_who_hangs_does_not_keep_what_is_buffered_from_others(it: Scene) -> None:
    """Naive: renewing for ever what no one will come to work on."""
    consumer = await it.create(ack_wait=SECOND // 5)
    await it.fill(5)
    async with consumer.consume(ack_wait_seconds=0.2, max_messages=5) as messages:
        iteration = aiter(messages)
        await anext(iteration)  # and here it hangs
        await it.until_pending(5)
        async with it.consumer().consume() as elsewhere:
            await read(elsewhere, set(), 5)
