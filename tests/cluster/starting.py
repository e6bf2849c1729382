"""How long something takes from its start until it is ready. Knows the clock; does not know what is started."""

import math
import time
from collections.abc import Callable
from typing import Protocol

MOST_STARTS = 8


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


def fewest_seconds_to_ready(make: Callable[[], Startable], *, enough: float) -> float:
    """Start some, one after the other, until one is quick enough: disks are cold, and others use the processors too."""
    fewest = math.inf
    for _ in range(MOST_STARTS):
        fewest = min(fewest, seconds_to_ready(make))
        if fewest <= enough:
            break
    return fewest
