"""How long runs take, as the last few did that went well.

Knows how many messages they had, and their seconds. Does not know what that is good for.
"""

import math
from collections import deque

REMEMBERED = 8


class Pace:
    """Nothing is known at first."""

    def __init__(self) -> None:
        self._runs: deque[tuple[int, float]] = deque(maxlen=REMEMBERED)

    def add(self, messages: int, seconds: float) -> None:
        self._runs.append((messages, seconds))

    def seconds_of(self, messages: int) -> float:
        """Return the least that any of them has a run of so many messages take; infinite while nothing is known.

        What a smaller one took is taken for the messages' sake alone: it may as well be.
        """
        return min((seconds * max(1.0, messages / count) for count, seconds in self._runs), default=math.inf)
