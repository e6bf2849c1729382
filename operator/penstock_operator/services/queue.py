"""What there is to work on: each key once, however often it is added, and never with two workers at a time.

A key that is added while it is worked on is worked on once more after that. A key may be added for later; whoever adds
it for sooner wins. It holds no more than there are keys, so it is as bounded as what is declared. Knows keys and times.
Does not know what is done with them (reconciler.py).
"""

import asyncio
from collections import deque
from collections.abc import Callable

from penstock_operator.plan.declared import Identity


class WorkQueue:
    """Used from one event loop, as everything here."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._waiting: deque[Identity] = deque()
        self._known: set[Identity] = set()
        """What waits, or is to be worked on again as soon as its worker is done with it."""
        self._since: dict[Identity, float] = {}
        """What is worked on, and since when; the oldest first."""
        self._later: dict[Identity, asyncio.TimerHandle] = {}
        self._there_is_work = asyncio.Semaphore(0)

    def add(self, key: Identity) -> None:
        """Have it worked on as soon as a worker is free."""
        self._cancel(key)
        if key in self._known:
            return
        self._known.add(key)
        if key not in self._since:
            self._offer(key)

    def add_later(self, key: Identity, delay_seconds: float) -> None:
        """Have it worked on after that time, unless it is to be sooner anyway."""
        loop = asyncio.get_running_loop()
        handle = self._later.get(key)
        if key in self._known or (handle and handle.when() <= loop.time() + delay_seconds):
            return
        self._cancel(key)
        self._later[key] = loop.call_later(delay_seconds, self.add, key)

    async def take(self) -> Identity:
        """Wait for a key; whoever takes it says done() in the end, whatever happens."""
        await self._there_is_work.acquire()
        key = self._waiting.popleft()
        self._known.discard(key)
        self._since[key] = self._clock()
        return key

    def done(self, key: Identity) -> None:
        """Nobody works on it any more."""
        del self._since[key]
        if key in self._known:
            self._offer(key)

    def close(self) -> None:
        """Forget what was to be worked on later."""
        for handle in self._later.values():
            handle.cancel()
        self._later.clear()

    @property
    def depth(self) -> int:
        """Return how many keys wait for a worker now."""
        return len(self._waiting)

    @property
    def oldest(self) -> tuple[Identity, float] | None:
        """Return what has been worked on for longest, and since when."""
        return next(iter(self._since.items()), None)

    def is_worked_on(self, key: Identity) -> bool:
        return key in self._since

    def is_expected(self, key: Identity) -> bool:
        """Tell whether it is worked on, or will be as soon as a worker is free."""
        return key in self._since or key in self._known

    def _offer(self, key: Identity) -> None:
        self._waiting.append(key)
        self._there_is_work.release()

    def _cancel(self, key: Identity) -> None:
        handle = self._later.pop(key, None)
        if handle:
            handle.cancel()
