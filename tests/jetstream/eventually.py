"""Waiting, in an event loop, for what servers do in their own time: elections, moves, expiries."""

import asyncio
from collections.abc import Awaitable, Callable

from penstock_jetstream.errors import ApiError, NoRespondersError, RequestTimeoutError
from tests.testbed.waiting import PAUSE_SECONDS


async def eventually(condition: Callable[[], Awaitable[bool]], what: str, seconds: float = 20) -> None:
    """Return as soon as the condition holds; a server that does not answer or refuses meanwhile says only: not yet."""
    said: Exception | None = None
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    if await condition():
                        return
                except (ApiError, NoRespondersError, RequestTimeoutError) as problem:
                    said = problem
                await asyncio.sleep(PAUSE_SECONDS)
    except TimeoutError as problem:
        raise TimeoutError(f"{what}: not within {seconds:g} s; last: {said}") from problem
