"""Waiting for something real to become true: a deadline, a reason, and no fixed sleeps."""

import time
from collections.abc import Callable

PAUSE_SECONDS = 0.02


def wait_until(condition: Callable[[], bool], what: str, seconds: float) -> None:
    """Return as soon as the condition holds; past the deadline, fail with what was waited for."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(PAUSE_SECONDS)
