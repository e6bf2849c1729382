"""How long something takes from its start until it is ready. Knows the clock; does not know what is started."""

import time
from collections.abc import Callable
from typing import Protocol


class Startable(Protocol):
    """Starts until it is ready, and stops."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


def seconds_to_ready(make: Callable[[], Startable]) -> float:
    """Make one, start it, and stop it again."""
    began = time.monotonic()
    started = make()
    started.start()
    took = time.monotonic() - began
    started.stop()
    return took
