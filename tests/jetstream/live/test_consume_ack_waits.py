"""Buffered messages and their ack waits: what users complain of, as tests that fail with the naive behaviour."""

import asyncio

import pytest

from penstock_jetstream.errors import (
    AckWaitOverError,
)
from tests.jetstream.scene import SECOND, scene
from tests.testbed.nats.server import NatsServer


@pytest.mark.requirement("V-01")
async def test_what_waited_for_longer_than_its_ack_wait_is_not_handed_out(
    newest_server: NatsServer, fresh_name: str
) -> None:
    """Naive: the rest of the buffer is worked on here and by whom it was delivered to meanwhile."""
    async with scene(newest_server.url, fresh_name) as it:
        consumer = await it.create(ack_wait=SECOND // 10)
        await it.fill(5)
        handled: list[int] = []
        async with consumer.consume(ack_wait_seconds=0.1, keep_alive=False) as messages:
            async for message in messages:
                token = message.metadata
                handled.append(token.stream_sequence)
                message.ack()
                if token.consumer_sequence == 1:
                    await it.until(lambda info: info.num_redelivered == 4)  # so long the first one took
                if len(handled) == 5:
                    break
        assert sorted(handled) == [1, 2, 3, 4, 5]
        assert isinstance(it.reports[0], AckWaitOverError)
        assert it.reports[0].messages == 4


@pytest.mark.requirement("V-01")
async def test_what_is_buffered_is_kept_alive_while_its_user_works(newest_server: NatsServer, fresh_name: str) -> None:
    """Naive: ten messages of 60 ms each, an ack wait of 200 ms: most are delivered two or three times."""
    async with scene(newest_server.url, fresh_name) as it:
        consumer = await it.create(ack_wait=SECOND // 5)
        await it.fill(10)
        await consumer.info()  # tells the ack wait
        handled = []
        async with consumer.consume() as messages:
            async for message in messages:
                handled.append(message.metadata.delivered)
                await asyncio.sleep(0.06)  # the work
                await message.double_ack()
                if len(handled) == 10:
                    break
        assert handled == [1] * 10
        assert (await it.info()).delivered.consumer_sequence == 10
        assert it.reports == []


@pytest.mark.requirement("V-01")
async def test_a_user_who_hangs_does_not_keep_what_is_buffered_from_others(server: NatsServer, fresh_name: str) -> None:
    """Naive: renewing for ever what no one will come to work on."""
    async with scene(server.url, fresh_name) as it:
        consumer = await it.create(ack_wait=SECOND // 5)
        await it.fill(5)
        async with consumer.consume(ack_wait_seconds=0.2) as messages:
            await anext(aiter(messages))  # and here it hangs
            await it.until_pending(5)
            assert len(await it.consumer().fetch(5, expires_seconds=5)) == 5
