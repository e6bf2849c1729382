"""How long steps speak: what is done, how far it is, how long it took, and a sentence when it cannot be done.

Knows: the terminal. Does not know: what the steps do. Called by the tools and by tests/testbed.
"""

import contextlib
import sys
import time
from collections.abc import Iterator


class CannotContinueError(Exception):
    """Something that a person has to provide is missing; the text says what, and how."""


@contextlib.contextmanager
def step(title: str) -> Iterator[None]:
    """Announce a step and say how long it took; work that fails leaves its own message behind."""
    say(f"{title} …")
    started = time.monotonic()
    yield
    say(f"{title}: done in {time.monotonic() - started:.0f} s")


def say(text: str) -> None:
    """Print to standard error at once, so that a program's data on standard output stays clean."""
    print(text, file=sys.stderr, flush=True)
