"""Whether this process is the one that acts: asked before each write, to NATS as to Kubernetes.

A passive thing: who decides grants and withdraws it (services.election by a Lease; `Leadership.alone` once for all).
What it grants ends at a time, by the clock that it was given, whether or not anybody is there to end it: a process that
was stopped for a minute finds that it does not lead before it writes. Does not know Leases.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Self

Clock = Callable[[], float]
Listener = Callable[[bool], None]


LANDS_SECONDS = 5.0
"""After this long, a request that was broken off has reached its server, or never will."""


class NotLeadingError(Exception):
    """The process may not write: it has not the lead, or lost it before the write was done."""

    def __init__(self) -> None:
        super().__init__("This replica does not lead: another may act in its place.")


class Leadership:
    """Used from one event loop, as everything here."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until = -math.inf
        self._was_held = False
        self._listeners: list[Listener] = []
        self._under_way: set[asyncio.Timeout] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._broken_off_at = -math.inf
        self._is_finishing = False
        self._end: asyncio.TimerHandle | None = None

    @classmethod
    def alone(cls) -> Self:
        """Return the leadership of one who has no others beside it."""
        leadership = cls(lambda: 0.0)
        leadership._until = math.inf
        leadership._was_held = True
        return leadership

    def is_held(self) -> bool:
        """Tell whether this process may write at this instant."""
        return self._clock() < self._until and not self._is_finishing

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Run the block while we lead: it is not begun if we do not, and cancelled as soon as we do no longer.

        Either way it ends with NotLeadingError. One write each, so that nothing is begun late.
        """
        if not self.is_held():
            raise NotLeadingError
        async with self._limited():
            yield

    def on_change(self, listener: Listener) -> None:
        """Have it told of each change from now on: True when we begin to lead, False when we no longer do."""
        self._listeners.append(listener)

    def grant(self, until: float) -> None:
        """Lead until then; a later grant prolongs it."""
        self._until = until
        for limit in self._under_way:
            _move(limit, self._remaining_seconds())
        self._plan_end()
        self._tell()

    def withdraw(self) -> None:
        """Lead no longer. What is under way is cancelled."""
        self._until = -math.inf
        for limit in self._under_way:
            _move(limit, 0)
        self._plan_end()
        self._tell()

    async def finish(self, seconds: float) -> bool:
        """Begin nothing more, and wait that long for what is under way.

        Tell whether all of it has come to its end: what was broken off may land on its server still, and nobody else
        should act by then.
        """
        self._is_finishing = True
        self._tell()
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            return False
        return self._clock() - self._broken_off_at >= LANDS_SECONDS

    @asynccontextmanager
    async def _limited(self) -> AsyncIterator[None]:
        limit = asyncio.timeout(self._remaining_seconds())
        self._under_way.add(limit)
        self._idle.clear()
        try:
            async with limit:
                yield
        except asyncio.CancelledError:
            self._broken_off_at = self._clock()
            raise
        except TimeoutError:
            if not limit.expired():
                raise
            self._broken_off_at = self._clock()
            raise NotLeadingError from None
        finally:
            self._under_way.discard(limit)
            if not self._under_way:
                self._idle.set()

    def _remaining_seconds(self) -> float | None:
        return None if math.isinf(self._until) else self._until - self._clock()

    def _plan_end(self) -> None:
        if self._end:
            self._end.cancel()
        remaining = self._remaining_seconds()
        loop = asyncio.get_running_loop()
        self._end = None if remaining is None else loop.call_later(max(0, remaining), self._ended)

    def _ended(self) -> None:
        if self.is_held():  # the event loop's clock and ours differ
            self._plan_end()
        else:
            self._tell()

    def _tell(self) -> None:
        is_held = self.is_held()
        if is_held == self._was_held:
            return
        self._was_held = is_held
        for listener in self._listeners:
            listener(is_held)


def _move(limit: asyncio.Timeout, remaining_seconds: float | None) -> None:
    if limit.expired():
        return
    loop = asyncio.get_running_loop()
    limit.reschedule(None if remaining_seconds is None else loop.time() + remaining_seconds)
