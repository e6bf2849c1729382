"""Leadership is checked before each write, ends by itself, and cancels what is under way."""

import asyncio
import math

import pytest

from penstock_operator.services.leading import Leadership, NotLeadingError
from tests.operator.services.virtual_time import in_virtual_time

pytestmark = pytest.mark.interpreter


def leading(until: float = math.inf) -> Leadership:
    leadership = Leadership(asyncio.get_running_loop().time)
    leadership.grant(until)
    return leadership


async def write(leadership: Leadership, seconds: float) -> None:
    async with leadership.held():
        await asyncio.sleep(seconds)  # calm: virtual time


@in_virtual_time
async def test_nothing_begins_without_the_lead() -> None:
    leadership = leading(until=10)
    await asyncio.sleep(10)  # calm: virtual time
    with pytest.raises(NotLeadingError):
        async with leadership.held():
            raise AssertionError("The block was begun.")


@in_virtual_time
async def test_write_under_way_is_cancelled_when_the_lead_runs_out_or_is_withdrawn_unless_it_is_renewed() -> None:
    loop = asyncio.get_running_loop()
    with pytest.raises(NotLeadingError):
        await write(leading(until=10), 60)
    assert loop.time() == pytest.approx(10)
    withdrawn = leading()
    loop.call_later(5, withdrawn.withdraw)
    with pytest.raises(NotLeadingError):
        await write(withdrawn, 60)
    assert loop.time() == pytest.approx(15)
    renewed = leading(until=20)
    loop.call_later(4, renewed.grant, 100)
    await write(renewed, 60)


@in_virtual_time
async def test_timeout_inside_the_block_stays_a_timeout() -> None:
    with pytest.raises(TimeoutError):
        async with leading(until=10).held(), asyncio.timeout(1):
            await asyncio.sleep(60)  # calm: virtual time


@in_virtual_time
async def test_each_change_is_reported_once() -> None:
    loop, told = asyncio.get_running_loop(), list[tuple[float, bool]]()
    leadership = Leadership(loop.time)
    leadership.on_change(lambda is_held: told.append((loop.time(), is_held)))
    leadership.withdraw()
    leadership.grant(10)
    leadership.grant(20)
    await asyncio.sleep(30)  # calm: virtual time
    leadership.grant(50)
    leadership.withdraw()
    assert told == [(0, True), (20, False), (30, True), (30, False)]


@in_virtual_time
async def test_finishing_waits_for_writes_under_way_and_allows_no_more() -> None:
    leadership = leading()
    writing = asyncio.create_task(write(leadership, 2))
    await asyncio.sleep(0)  # calm: lets the task begin
    assert await leadership.finish(5)
    assert writing.done()
    assert not leadership.is_held()


@in_virtual_time
async def test_finishing_reports_writes_that_do_not_end_in_time_or_were_cancelled() -> None:
    slow, broken = leading(), leading()
    tasks = [asyncio.create_task(write(slow, 60)), asyncio.create_task(write(broken, 60))]
    await asyncio.sleep(1)  # calm: virtual time
    tasks[1].cancel()
    assert not await slow.finish(5)
    assert await broken.finish(5), "a write that was cancelled five seconds ago has landed by now"
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert not await slow.finish(5)
