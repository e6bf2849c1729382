"""How long messages that wait in a buffer may still be handed out, and when their ack wait is to be renewed.

A message's ack wait begins when the server delivers it, not when someone begins to work on it (V-01). What lies in a
buffer for longer is delivered again elsewhere, and to work on it here would be to do the work twice. So what waits is
renewed (`+WPI`) while its turn is bound to come, and what has run out all the same is dropped.

Its turn is bound to come while the user keeps asking for messages. Who has not asked for a whole ack wait hangs, and
the message in hand is lost to others already: then nothing is renewed, and the server gives what waits to someone else.

Knows counts and times: what arrived first is taken first. Does not know messages, or how a renewal is sent.
"""

from collections import deque

from penstock_jetstream.errors import UsageError

RENEWALS_PER_ACK_WAIT = 3
"""One may get lost with its link, and there is time for another."""


class AckWaits:
    """Keeps the ends of the ack waits of what is buffered."""

    def __init__(self, ack_wait_seconds: float, *, keep_alive: bool, now: float) -> None:
        if ack_wait_seconds <= 0:
            raise UsageError(
                f"An ack wait of {ack_wait_seconds} seconds is none.",
                advice="Give the consumer's ack_wait, in seconds; with backoff, the shortest of its steps.",
            )
        self._ack_wait_seconds = ack_wait_seconds
        self._keep_alive = keep_alive
        self._waits: deque[tuple[float, int]] = deque()
        """When the ack wait of so many messages ends, in the order of the buffer."""
        self._asked_at = now
        self._renew_at = now + self._period_seconds

    @property
    def _period_seconds(self) -> float:
        return self._ack_wait_seconds / RENEWALS_PER_ACK_WAIT

    def arrived(self, count: int, now: float) -> None:
        self._waits.append((now + self._ack_wait_seconds, count))

    def asked(self, now: float) -> int:
        """The user wants a message: return how many at the front of the buffer have run out, and are to be dropped."""
        self._asked_at = now
        expired = 0
        while self._waits and self._waits[0][0] <= now:
            expired += self._waits.popleft()[1]
        return expired

    def taken(self) -> None:
        """The message at the front was handed out."""
        end, count = self._waits[0]
        if count == 1:
            self._waits.popleft()
        else:
            self._waits[0] = (end, count - 1)

    def discarded(self) -> None:
        """The buffer was emptied."""
        self._waits.clear()

    @property
    def wake_at(self) -> float | None:
        """When `renew` is to be called next; None where nothing is ever renewed."""
        return self._renew_at if self._keep_alive else None

    def renew(self, now: float) -> int:
        """Return how many at the *back* of the buffer are to be renewed now; those before them have run out."""
        if not self._keep_alive or now < self._renew_at:
            return 0
        self._renew_at = now + self._period_seconds
        if now - self._asked_at >= self._ack_wait_seconds:
            return 0
        expired = [wait for wait in self._waits if wait[0] <= now]
        renewed = sum(count for end, count in self._waits if end > now)
        self._waits = deque(expired)
        if renewed:
            self.arrived(renewed, now)
        return renewed
