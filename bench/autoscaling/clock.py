"""Simulated time: what is due is done in its order, and time jumps from one thing to the next.

Knows times. Does not know what is done.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

Deed = Callable[[], None]


class Clock:
    """Starts at 0. Of two things due at one time the one goes first that was planned first."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Deed]] = []
        self._numbers = count()

    def at(self, time: float, do: Deed) -> None:
        heappush(self._due, (max(time, self.now), next(self._numbers), do))

    def after(self, seconds: float, do: Deed) -> None:
        self.at(self.now + seconds, do)

    def every(self, seconds: float, do: Deed, *, first: float = 0.0) -> None:
        """Do it for ever, at a fixed period."""

        def again() -> None:
            do()
            self.after(seconds, again)

        self.at(first, again)

    def run(self, until: float) -> None:
        while self._due and self._due[0][0] <= until:
            self.now, _, do = heappop(self._due)
            do()
        self.now = until
