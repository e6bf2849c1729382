"""What was finished a short while ago: copies of it that were on their way then are not processed once more.

Knows sequences, and until when each is remembered. Forgets all when the stream is another one (its engine ends then).
"""

from collections import deque
from dataclasses import dataclass

from penstock_worker.policy.ranges import Range, contains

ACK_WAITS = 4
"""A copy is sent within one ack wait of the last renewal; it, and the answer to the copy before it, may be slow."""
BATCHES_MAX = 1000


@dataclass(frozen=True, slots=True)
class Memory:
    until: float
    ranges: tuple[Range, ...]
    newest: int
    """When the stream took the last of them."""
    dead: frozenset[int]
    """Those of them that are dead letters."""


class Finished:
    """The newest batches that were settled."""

    def __init__(self, ack_wait_seconds: float) -> None:
        self._seconds = ACK_WAITS * ack_wait_seconds
        self._memories: deque[Memory] = deque(maxlen=BATCHES_MAX)

    def add(self, ranges: tuple[Range, ...], newest: int, dead: frozenset[int], now: float) -> None:
        self._memories.append(Memory(now + self._seconds, ranges, newest, dead))

    def forget_old(self, now: float) -> None:
        while self._memories and self._memories[0].until <= now:
            self._memories.popleft()

    def __bool__(self) -> bool:
        return bool(self._memories)

    def among(self, first: int, last: int) -> "Finished":
        """Return what is remembered of messages from one to another."""
        few = Finished(0)
        few._memories.extend(one for one in self._memories if one.ranges[0][0] <= last and first <= one.ranges[-1][1])
        return few

    def is_dead(self, sequence: int, stored_at: int) -> bool | None:
        """Tell whether a message was put aside, or processed; None if neither is remembered."""
        for memory in reversed(self._memories):
            if stored_at <= memory.newest and contains(memory.ranges, sequence):
                return sequence in memory.dead
        return None
