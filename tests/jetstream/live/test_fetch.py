"""Fetch and next, on real servers: what is asked, what comes back, and what becomes of the rest."""

import asyncio

import pytest

from penstock_jetstream.core.options import Wait
from penstock_jetstream.errors import (
    ConsumerDeletedError,
    NoLeaderOrMissingError,
    RequestRefusedError,
)
from tests.jetstream.scene import SECOND, Scene, on_every_server, until


@pytest.mark.requirement("P-12", "C-10", "C-02")
@on_every_server
async def test_fetch_returns_exactly_as_many_messages_as_asked_for_or_what_there_is_when_it_expires(it: Scene) -> None:
    """Naive: a client that hands out all that its subscription has returned 31 messages for fetch(5)."""
    consumer = await it.create()
    await it.fill(34)
    first = await consumer.fetch(5)
    rest = await consumer.fetch(26)
    assert len(first) == 5
    assert [int(message.data) for message in first + rest] == list(range(1, 32))
    began = asyncio.get_running_loop().time()
    assert len(await consumer.fetch(5, expires_seconds=2)) == 3
    assert asyncio.get_running_loop().time() - began >= 2


@pytest.mark.requirement("S-32", "P-14", "C-42", "C-43", "P-01", "P-03", "P-05", "P-07")
async def test_fetch_without_messages_returns_none_and_its_pull_asks_for_a_batch_and_expires(it: Scene) -> None:
    consumer = await it.create()
    async with it.watched_pulls() as pulls:
        for wait in Wait:
            assert await consumer.fetch(5, expires_seconds=0.05, wait=wait) == []
        assert it.reports == []
        await until(lambda: pulls)
        assert pulls[0].pull == {"batch": 5, "expires": 50_000_000}
        assert pulls[0].reply.startswith("_INBOX.")


@pytest.mark.requirement("P-11")
async def test_two_steps_bring_a_whole_batch_in_spite_of_the_bound_on_their_subscription(it: Scene) -> None:
    """Naive: a bound of `batch` is used up by the 404 of the first step, and the last message goes to no one."""
    consumer = await it.create()
    for available in (0, 1, 3):
        await it.fill(available) if available else None
        fetch = asyncio.create_task(consumer.fetch(3, expires_seconds=60, wait=Wait.FIRST))
        if not available:
            await it.until_waiting(1)
            await it.fill(3)
        received = await fetch
        while len(received) < 3 and available == 0:
            received += await consumer.fetch(3 - len(received), expires_seconds=60, wait=Wait.FIRST)
        assert len(received) == (available or 3)
        assert (await it.info()).num_ack_pending == len(received)
        for message in received:
            await message.double_ack()


@pytest.mark.requirement("P-13")
@on_every_server
@pytest.mark.interpreter
async def test_cancelled_fetch_leaves_nothing_behind(it: Scene) -> None:
    """Naive: what the server sends to the abandoned inbox is lost until the ack wait is over, here 30 s."""
    consumer = await it.create()
    await it.fill(2)
    fetch = asyncio.create_task(consumer.fetch(5, expires_seconds=20))
    await it.until_pending(2)
    fetch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetch
    await it.publish(b"3")
    again = await consumer.fetch(3, expires_seconds=60)
    assert sorted(int(message.data) for message in again) == [1, 2, 3]
    assert [message.metadata.delivered for message in sorted(again, key=lambda each: each.data)] == [2, 2, 1]


@pytest.mark.requirement("S-33", "C-43")
@on_every_server
async def test_what_the_consumer_does_not_allow_is_an_error_and_not_an_empty_answer(it: Scene) -> None:
    """Naive: 409 taken for temporary makes fetch(10) from a consumer with max_batch 2 return nothing, for ever."""
    consumer = await it.create(max_batch=2, max_bytes=500, max_expires=60 * SECOND)
    await it.fill(3)
    for options in ({"max_messages": 10}, {"max_messages": 1, "expires_seconds": 61.0}, {"max_bytes": 501}):
        with pytest.raises(RequestRefusedError, match="Exceeded MaxRequest"):
            await consumer.fetch(**{"expires_seconds": 60.0, **options})  # type: ignore[arg-type]
    assert len(await consumer.fetch(2, expires_seconds=60)) == 2


@pytest.mark.requirement("S-33", "C-43", "C-10")
@on_every_server
async def test_fetch_from_a_consumer_that_is_missing_or_deleted_is_an_error_unless_something_came(it: Scene) -> None:
    with pytest.raises(NoLeaderOrMissingError):
        await it.consumer("missing").fetch(1, expires_seconds=20)
    consumer = await it.create()
    fetch = asyncio.create_task(consumer.fetch(1, expires_seconds=20))
    await it.until_waiting(1)
    await consumer.delete()
    with pytest.raises(ConsumerDeletedError, match=f"c of stream {it.stream}"):
        await fetch
    assert it.reports == []
    consumer = await it.create()
    await it.fill(2)
    fetch = asyncio.create_task(consumer.fetch(5, expires_seconds=20))
    await it.until_pending(2)
    await consumer.delete()
    assert len(await fetch) == 2
    assert [type(report) for report in it.reports] == [ConsumerDeletedError]


@pytest.mark.requirement("C-13", "S-33", "C-43")
@on_every_server
async def test_next_returns_messages_one_by_one_then_none_and_an_error_without_its_consumer(it: Scene) -> None:
    """Naive: a message that was fetched in advance burns its ack wait in a buffer."""
    consumer = await it.create()
    await it.fill(2)
    first = await consumer.next(expires_seconds=60)
    await it.until(lambda info: (info.num_ack_pending, info.num_waiting, info.num_pending) == (1, 0, 1))
    messages = [first, await consumer.next(expires_seconds=60), await consumer.next(expires_seconds=0.05)]
    assert [message and int(message.data) for message in messages] == [1, 2, None]
    with pytest.raises(NoLeaderOrMissingError):
        await it.consumer("missing").next()


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
