"""Waiting, in an event loop, for what servers do in their own time: elections, moves, expiries."""

import asyncio
from collections.abc import Awaitable, Callable

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.errors import ApiError, NoRespondersError, RequestTimeoutError
from tests.testbed.waiting import PAUSE_SECONDS


async def eventually(condition: Callable[[], Awaitable[bool]], what: str, seconds: float = 60) -> None:
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


async def reachable(jetstream: JetStream) -> None:
    """Return when a domain behind a leaf answers: a leaf that has connected has yet to say what it listens to."""

    async def answers() -> bool:
        return (await jetstream.account()).api_level >= 0

    await eventually(answers, f"{jetstream.api.prefix} answers")
