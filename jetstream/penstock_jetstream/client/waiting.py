"""Tasks that wait for what comes, until it is over; how they get messages; and a timer that machines set.

Knows who waits, and what ended it. Does not know what comes: whoever is woken looks again.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Self

from penstock_jetstream.client.message import Message


class Waiting:
    """Those who wait, in order, and the end of it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._over: asyncio.Future[None] = self._loop.create_future()
        """Done when nothing more will come; its exception is what ended it."""
        self._over.add_done_callback(lambda over: over.exception())  # asyncio need not warn of it

    @property
    def is_over(self) -> bool:
        return self._over.done()

    @property
    def has_waiters(self) -> bool:
        return bool(self._waiters)

    async def more(self) -> bool:
        """Wait until there may be something; False when nothing will come any more. Raise what ended it."""
        if self._over.done():
            self._over.result()
            return False
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            else:
                self.wake(1)  # another may have what this one was woken for
            raise
        return True

    async def ended(self) -> None:
        """Wait until it is over, and raise what ended it."""
        await asyncio.wait([self._over])
        self._over.result()

    def wake(self, count: int) -> None:
        for _ in range(min(count, len(self._waiters))):
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def end(self, error: Exception | None) -> None:
        """Nothing more will come. What ended it first counts."""
        if self._over.done():
            return
        if error is None:
            self._over.set_result(None)
        else:
            self._over.set_exception(error)
        self.wake(len(self._waiters))


class Timer:
    """One alarm at a time: setting it anew takes the place of what was set."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None

    def set(self, time: float) -> None:
        self.cancel()
        self._handle = self._loop.call_at(time, self._ring)

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class Reader(ABC):
    """Hands out messages, to `async for` or one at a time."""

    @abstractmethod
    async def _next(self) -> Message | None:
        """Return the next message; None when none will come any more."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        message = await self._next()
        if message is None:
            raise StopAsyncIteration
        return message

    async def next(self, timeout_seconds: float) -> Message | None:
        """Return the next message, or None if none came in time, or none will come any more."""
        deadline = asyncio.timeout(timeout_seconds)
        try:
            async with deadline:
                return await anext(aiter(self), None)
        except TimeoutError:
            if not deadline.expired():
                raise
            return None
