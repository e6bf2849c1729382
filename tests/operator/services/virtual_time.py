"""An event loop with virtual time: it jumps to the next timer. For code that waits for timers only."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from typing_extensions import override

P = ParamSpec("P")
T = TypeVar("T")


class Jumping(selectors.DefaultSelector):
    """Never waits: the timeout has passed when it returns."""

    now = 0.0

    @override
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("Deadlock: all tasks wait, and no timer runs.")
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = Jumping()
        super().__init__(self._jumping)

    @override
    def time(self) -> float:
        return self._jumping.now


def in_virtual_time(story: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a test, or any function, of a coroutine function that runs in virtual time, which begins with 0."""

    @wraps(story)
    def told(*arguments: P.args, **options: P.kwargs) -> T:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(story(*arguments, **options))

    return told
