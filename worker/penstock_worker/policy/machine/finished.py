"""What was finished a short while ago: copies of it that were on their way then are not processed once more.

Knows sequences, and until when each is remembered. Forgets all when the stream is another one (its engine ends then).
"""

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass

from penstock_worker.policy.ranges import Range

ACK_WAITS = 4
"""A copy is sent within one ack wait of the last renewal; it, and the answer to the copy before it, may be slow."""
BATCHES_MAX = 1000


@dataclass(frozen=True, slots=True)
class Memory:
    until: float
    ranges: tuple[Range, ...]
    dead: frozenset[int]
    """Those of them that are dead letters."""


class Finished:
    """The newest batches that were settled."""

    def __init__(self, ack_wait_seconds: float) -> None:
        self._seconds = ACK_WAITS * ack_wait_seconds
        self._memories: deque[Memory] = deque(maxlen=BATCHES_MAX)

    def add(self, ranges: tuple[Range, ...], dead: frozenset[int], now: float) -> None:
        self._memories.append(Memory(now + self._seconds, ranges, dead))

    def forget_old(self, now: float) -> None:
        while self._memories and self._memories[0].until <= now:
            self._memories.popleft()

    def is_dead(self, sequence: int) -> bool | None:
        """Tell whether a message was put aside, or processed; None if neither is remembered."""
        for memory in reversed(self._memories):
            if contains(memory.ranges, sequence):
                return sequence in memory.dead
        return None


def contains(ranges: tuple[Range, ...], sequence: int) -> bool:
    place = bisect_right(ranges, sequence, key=lambda one: one[0])
    return place > 0 and sequence <= ranges[place - 1][1]
