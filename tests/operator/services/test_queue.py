"""The work queue: each key once, one worker per key, delays."""

import pytest

from penstock_operator.plan.declared import Identity
from penstock_operator.services.queue import WorkQueue

pytestmark = pytest.mark.interpreter

ORDERS = Identity("Stream", "shop", "orders")
BILLS = Identity("Stream", "shop", "bills")
FAR_AWAY_SECONDS = 3600.0
SOON_SECONDS = 0.01


@pytest.fixture
def queue() -> WorkQueue:
    return WorkQueue(iter(range(100)).__next__)


async def test_keys_are_taken_once_in_the_order_in_which_they_were_added(queue: WorkQueue) -> None:
    for key in (ORDERS, BILLS, ORDERS):
        queue.add(key)
    assert queue.depth == 2
    assert [await queue.take(), await queue.take()] == [ORDERS, BILLS]


async def test_key_added_while_it_is_reconciled_is_taken_once_more_after_that(queue: WorkQueue) -> None:
    queue.add(ORDERS)
    key = await queue.take()
    queue.add(ORDERS)
    queue.add(ORDERS)
    assert queue.depth == 0
    queue.done(key)
    assert queue.depth == 1
    queue.done(await queue.take())
    assert queue.depth == 0


async def test_delayed_key_is_taken_at_the_soonest_of_its_times(queue: WorkQueue) -> None:
    for seconds in (FAR_AWAY_SECONDS, SOON_SECONDS, FAR_AWAY_SECONDS):
        queue.add_later(ORDERS, seconds)
    assert queue.depth == 0
    assert await queue.take() == ORDERS


async def test_key_added_at_once_is_not_taken_later_as_well(queue: WorkQueue) -> None:
    queue.add_later(ORDERS, SOON_SECONDS)
    queue.add(ORDERS)
    queue.add_later(BILLS, 2 * SOON_SECONDS)
    queue.done(await queue.take())
    assert await queue.take() == BILLS


async def test_key_that_is_reconciled_for_longest_is_reported(queue: WorkQueue) -> None:
    assert queue.oldest is None
    queue.add(ORDERS)
    queue.add(BILLS)
    first, _ = await queue.take(), await queue.take()
    assert queue.oldest == (ORDERS, 0)
    queue.done(first)
    assert queue.oldest == (BILLS, 1)
