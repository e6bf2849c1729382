"""Whether the other end of a link still lives.

Pure. Knows how many PINGs may go unanswered. Does not know timers: it is asked once per interval.
"""

MOST_UNANSWERED = 2


class Pulse:
    """One link's. A PING goes out every interval; a peer that died is found within three of them."""

    def __init__(self) -> None:
        self._unanswered = 0
        self._accepted_bytes = 0
        self._backlog_bytes = 0

    def beats(self, *, heard: bool, handed_over_bytes: int, backlog_bytes: int) -> bool:
        """Judge once per interval, before the next PING: is the peer alive, for all that is known?

        Told are whether anything came since the last time, how much the transport was ever given, and how much of that
        it still has. A backlog that shrinks is a slow peer, not a dead one: our PING may well wait in that backlog.
        Without a backlog what left says nothing, as it may be on its way to nowhere.
        """
        accepted_bytes = handed_over_bytes - backlog_bytes
        moves = self._backlog_bytes > 0 and accepted_bytes > self._accepted_bytes
        self._accepted_bytes, self._backlog_bytes = accepted_bytes, backlog_bytes
        self._unanswered = 0 if heard or moves else self._unanswered + 1
        return self._unanswered < MOST_UNANSWERED
