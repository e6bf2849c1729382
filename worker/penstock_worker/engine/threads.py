"""Blocking calls beside the event loop, each in a thread of its own.

Not in a pool: a call to a driver that hangs would take a place in it, and a pool waits for its threads when the process
ends. Knows no calls.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def beside(call: Callable[[], T], name: str) -> T:
    """Return what a call returns. If the caller is cancelled, nobody waits any more, and the call goes on alone."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def tell(take: Callable[[Any], None], value: object) -> None:
        if not result.done():
            take(value)

    def run() -> None:
        try:
            value = call()
        except BaseException as problem:  # noqa: BLE001 - it is raised where it is awaited
            take, told = result.set_exception, problem
        else:
            take, told = result.set_result, value  # type: ignore[assignment]
        with suppress(RuntimeError):  # the loop is closed: the process ends, and nobody waits
            loop.call_soon_threadsafe(tell, take, told)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await result
