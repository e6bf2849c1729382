"""Next: one message, asked for when it is wanted."""

import asyncio

import pytest

from penstock_jetstream.core.options import Wait
from penstock_jetstream.errors import NoLeaderOrMissingError
from tests.jetstream.scene import Scene, on_every_server


@pytest.mark.requirement("C-13", "S-33", "C-43")
@on_every_server
async def test_next_returns_messages_one_by_one_then_none_and_an_error_without_its_consumer(it: Scene) -> None:
    consumer = await it.create()
    await it.fill(2)
    messages = [await consumer.next(expires_seconds=seconds) for seconds in (60, 60, 0.05)]
    assert [message and int(message.data) for message in messages] == [1, 2, None]
    with pytest.raises(NoLeaderOrMissingError):
        await it.consumer("missing").next()


@pytest.mark.requirement("C-13")
async def test_next_asks_for_nothing_in_advance(it: Scene) -> None:
    """Naive: a message that was fetched ahead burns its ack wait in a buffer that no one looks into."""
    consumer = await it.create()
    await it.fill(3)
    await consumer.next()
    await it.until(lambda info: (info.num_ack_pending, info.num_waiting, info.num_pending) == (1, 0, 2))


@pytest.mark.requirement("C-13", "P-09", "P-15")
@on_every_server
async def test_next_waits_for_the_message_that_comes(it: Scene) -> None:
    consumer = await it.create()
    for wait in (Wait.BATCH, Wait.FIRST):
        coming = asyncio.create_task(consumer.next(expires_seconds=60, wait=wait))
        await it.until_waiting()
        await it.publish(wait.value.encode())
        message = await coming
        assert message is not None
        assert message.data == wait.value.encode()
        await message.double_ack()


@pytest.mark.requirement("P-16", "V-08")
@on_every_server
async def test_next_reads_from_a_consumer_that_is_not_durable(it: Scene, fresh_name: str) -> None:
    await it.js.consumers.create(fresh_name, {"name": "passing", "ack_policy": "explicit"})
    await it.fill(1)
    consumer = it.consumer("passing")
    assert (await consumer.info()).config["inactive_threshold"] == 5_000_000_000
    assert await consumer.next() is not None
    assert await consumer.next(expires_seconds=0.01) is None
