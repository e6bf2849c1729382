"""Simulated time: scheduled events, in order, and a readable trace. All chance comes from the seed of `random`."""

import random
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any


class World:
    """A clock that jumps from one event to the next."""

    __slots__ = ("_events", "_order", "lines", "now", "random")

    def __init__(self, seed: int, *, traced: bool = False) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a simulation needs to be repeatable, not secret
        self.now = 0.0
        self.lines: list[str] | None = [] if traced else None
        self._events: list[tuple[float, int, Callable[..., Any], tuple[Any, ...]]] = []
        self._order = 0

    def at(self, time: float, call: Callable[..., Any], *arguments: Any) -> None:  # noqa: ANN401 - they are the call's
        self._order += 1
        heappush(self._events, (time, self._order, call, arguments))

    def after(self, seconds: float, call: Callable[..., Any], *arguments: Any) -> None:  # noqa: ANN401 - the call's
        self.at(self.now + seconds, call, *arguments)

    def run(self, until: float, *, unless: Callable[[], bool] = lambda: False) -> None:
        """Let events happen until that time, or until there is a reason to stop."""
        events = self._events
        while events and events[0][0] <= until and not unless():
            time, _, call, arguments = heappop(events)
            self.now = max(self.now, time)
            call(*arguments)
        if not unless():
            self.now = max(self.now, until)

    def say(self, who: str, what: str) -> None:
        """Note something; who is expensive to describe checks `lines` first."""
        if self.lines is not None:
            self.lines.append(f"{self.now:9.3f}  {who:<8}  {what}")
