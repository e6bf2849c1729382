"""The one way that tests wait: poll a condition until it holds. The deadline only catches what hangs."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

T = TypeVar("T")

PAUSE_SECONDS = 0.02
WITHIN_SECONDS = 60
"""Far more than anything takes on a machine that is busy with other work."""


def eventually(
    condition: Callable[[], T | None],
    what: str,
    within: float = WITHIN_SECONDS,
    *,
    not_yet: tuple[type[Exception], ...] = (),
) -> T:
    """Return the condition's first true value. Exceptions in `not_yet` count as false.

    After the deadline, raise TimeoutError with what was waited for and the last such exception. A condition that takes
    long is asked less often, so that it takes at most half of a processor.
    """
    deadline = time.monotonic() + within
    last: Exception | None = None
    while True:
        asked = time.monotonic()
        try:
            if value := condition():
                return value
        except not_yet as problem:
            last = problem
        now = time.monotonic()
        if now > deadline:
            raise TimeoutError(_too_late(what, within, last)) from last
        time.sleep(max(PAUSE_SECONDS, now - asked))


@overload
async def eventually_async(
    condition: Callable[[], Awaitable[T | None]],
    what: str,
    within: float = WITHIN_SECONDS,
    *,
    not_yet: tuple[type[Exception], ...] = (),
) -> T: ...
@overload
async def eventually_async(
    condition: Callable[[], T | None],
    what: str,
    within: float = WITHIN_SECONDS,
    *,
    not_yet: tuple[type[Exception], ...] = (),
) -> T: ...
async def eventually_async(
    condition: Callable[[], Awaitable[T | None] | T | None],
    what: str,
    within: float = WITHIN_SECONDS,
    *,
    not_yet: tuple[type[Exception], ...] = (),
) -> T:
    """Do what `eventually` does in an event loop; the condition may be a coroutine function."""
    last: Exception | None = None
    limit = asyncio.timeout(within)
    try:
        async with limit:
            while True:
                try:
                    answer = condition()
                    value = await answer if inspect.isawaitable(answer) else answer
                    if value:
                        return value
                except not_yet as problem:
                    last = problem
                await asyncio.sleep(PAUSE_SECONDS)
    except TimeoutError as late:
        if not limit.expired():
            raise
        raise TimeoutError(_too_late(what, within, last)) from (last or late)


def _too_late(what: str, within: float, last: Exception | None) -> str:
    return f"{what}: not within {within:g} s{f'; last: {last}' if last else ''}"
