"""The lead is asked for before each write, ends by itself, and takes with it what is under way."""

import asyncio
import math

import pytest

from penstock_operator.services.leading import Leadership, NotLeadingError
from tests.operator.services import virtual_time


def leading(until: float = math.inf) -> Leadership:
    leadership = Leadership(asyncio.get_running_loop().time)
    leadership.grant(until)
    return leadership


def test_who_is_alone_leads() -> None:
    async def story() -> None:
        leadership = Leadership.alone()
        async with leadership.held():
            assert leadership.is_held()

    virtual_time.run(story())


def test_nothing_is_begun_without_the_lead() -> None:
    async def story() -> None:
        leadership = leading(until=10)
        await asyncio.sleep(10)
        with pytest.raises(NotLeadingError):
            async with leadership.held():
                raise AssertionError("The block was begun.")

    virtual_time.run(story())


def test_what_is_under_way_when_the_time_is_up_is_cancelled() -> None:
    async def story() -> float:
        leadership = leading(until=10)
        with pytest.raises(NotLeadingError):
            async with leadership.held():
                await asyncio.sleep(60)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(story()) == pytest.approx(10)


def test_what_is_under_way_goes_on_when_the_lead_is_prolonged() -> None:
    async def story() -> None:
        leadership = leading(until=10)
        asyncio.get_running_loop().call_later(9, leadership.grant, 100)
        async with leadership.held():
            await asyncio.sleep(60)

    virtual_time.run(story())


def test_what_is_under_way_is_cancelled_when_the_lead_is_withdrawn() -> None:
    async def story() -> float:
        leadership = leading()
        asyncio.get_running_loop().call_later(5, leadership.withdraw)
        with pytest.raises(NotLeadingError):
            async with leadership.held():
                await asyncio.sleep(60)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(story()) == pytest.approx(5)


def test_a_timeout_of_the_block_is_the_blocks_own() -> None:
    async def story() -> None:
        with pytest.raises(TimeoutError):
            async with leading(until=10).held(), asyncio.timeout(1):
                await asyncio.sleep(60)

    virtual_time.run(story())


def test_each_change_is_told_once() -> None:
    async def story() -> list[tuple[float, bool]]:
        loop, told = asyncio.get_running_loop(), list[tuple[float, bool]]()
        leadership = Leadership(loop.time)
        leadership.on_change(lambda is_held: told.append((loop.time(), is_held)))
        leadership.withdraw()
        leadership.grant(10)
        leadership.grant(20)
        await asyncio.sleep(30)
        leadership.grant(50)
        leadership.withdraw()
        return told

    assert virtual_time.run(story()) == [(0, True), (20, False), (30, True), (30, False)]


def test_finishing_waits_for_what_is_under_way_and_begins_nothing_more() -> None:
    async def story() -> None:
        leadership = leading()
        writing = asyncio.create_task(write(leadership, 2))
        await asyncio.sleep(0)
        assert await leadership.finish(5)
        assert writing.done()
        assert not leadership.is_held()

    virtual_time.run(story())


def test_finishing_tells_of_what_does_not_end_in_time_and_of_what_was_broken_off() -> None:
    async def story() -> None:
        slow, broken = leading(), leading()
        tasks = [asyncio.create_task(write(slow, 60)), asyncio.create_task(write(broken, 60))]
        await asyncio.sleep(1)
        tasks[1].cancel()
        assert not await slow.finish(5)
        assert await broken.finish(5), "what was broken off five seconds ago has landed by now"
        tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not await slow.finish(5)

    virtual_time.run(story())


async def write(leadership: Leadership, seconds: float) -> None:
    async with leadership.held():
        await asyncio.sleep(seconds)
