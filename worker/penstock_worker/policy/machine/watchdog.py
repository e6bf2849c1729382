"""The watchdog of pulling: notices that messages are pending and may be pulled, but no request for them is open.

No known fault leads there. It is the last resort against an unknown one, since such a worker would look healthy.
"""

STALLED_SECONDS = 5.0
"""Two heartbeats of a pull request, and a little more."""


class Watchdog:
    """Looks at each reading of the consumer's info."""

    def __init__(self) -> None:
        self._stalled_since: float | None = None
        self._arrived = 0

    def look(self, *, is_idle: bool, arrived: int, now: float) -> bool:
        """Tell whether to start pulling again. `is_idle`: messages may come, but none is asked for."""
        if not is_idle or arrived != self._arrived:
            self._stalled_since, self._arrived = None, arrived
        if not is_idle:
            return False
        if self._stalled_since is None:
            self._stalled_since = now
        if now < self._stalled_since + STALLED_SECONDS:
            return False
        self._stalled_since = None
        return True
