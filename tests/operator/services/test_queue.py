"""The work queue: each key once, one worker per key, later and sooner."""

import asyncio

import pytest

from penstock_operator.plan.declared import Identity
from penstock_operator.services.queue import WorkQueue

ORDERS = Identity("Stream", "shop", "orders")
BILLS = Identity("Stream", "shop", "bills")
FAR_AWAY_SECONDS = 3600.0
SOON_SECONDS = 0.01


@pytest.fixture
def queue() -> WorkQueue:
    return WorkQueue(iter(range(100)).__next__)


async def test_keys_are_taken_in_the_order_in_which_they_were_added(queue: WorkQueue) -> None:
    queue.add(ORDERS)
    queue.add(BILLS)
    assert [await queue.take(), await queue.take()] == [ORDERS, BILLS]


async def test_a_key_that_was_added_twice_is_taken_once(queue: WorkQueue) -> None:
    queue.add(ORDERS)
    queue.add(ORDERS)
    assert queue.depth == 1


async def test_a_key_that_is_added_while_it_is_worked_on_is_taken_again_only_after_that(queue: WorkQueue) -> None:
    queue.add(ORDERS)
    key = await queue.take()
    queue.add(ORDERS)
    queue.add(ORDERS)
    assert queue.depth == 0
    queue.done(key)
    assert queue.depth == 1


async def test_a_key_that_was_not_added_meanwhile_is_not_taken_again(queue: WorkQueue) -> None:
    queue.add(ORDERS)
    queue.done(await queue.take())
    assert queue.depth == 0


async def test_a_worker_waits_until_there_is_work(queue: WorkQueue) -> None:
    worker = asyncio.create_task(queue.take())
    queue.add(ORDERS)
    assert await worker == ORDERS


async def test_a_key_added_for_later_is_taken_then(queue: WorkQueue) -> None:
    queue.add_later(ORDERS, SOON_SECONDS)
    assert queue.depth == 0
    assert await queue.take() == ORDERS


async def test_what_is_to_be_sooner_wins(queue: WorkQueue) -> None:
    queue.add_later(ORDERS, FAR_AWAY_SECONDS)
    queue.add_later(ORDERS, SOON_SECONDS)
    queue.add_later(ORDERS, FAR_AWAY_SECONDS)
    async with asyncio.timeout(FAR_AWAY_SECONDS / 2):
        assert await queue.take() == ORDERS


async def test_a_key_that_is_added_at_once_is_not_taken_later_as_well(queue: WorkQueue) -> None:
    queue.add_later(ORDERS, SOON_SECONDS)
    queue.add(ORDERS)
    queue.add_later(BILLS, 2 * SOON_SECONDS)
    queue.done(await queue.take())
    assert await queue.take() == BILLS


async def test_what_has_been_worked_on_for_longest_is_told(queue: WorkQueue) -> None:
    assert queue.oldest is None
    queue.add(ORDERS)
    queue.add(BILLS)
    first, _ = await queue.take(), await queue.take()
    assert queue.oldest == (ORDERS, 0)
    queue.done(first)
    assert queue.oldest == (BILLS, 1)
