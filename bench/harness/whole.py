"""The place that a benchmark runs in: servers and folders that end with it, however it ends.

Knows that a benchmark that was told to end before it had its figures has nothing to print.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.testbed.by_hand import opened_run

INTERRUPTED = 130
"""The exit code, as a shell has it for a program that was interrupted."""


@contextmanager
def measuring() -> Iterator[None]:
    """Have a run of the testbed; Ctrl-C or SIGTERM within the block ends the program."""
    is_whole = False
    with opened_run():
        yield
        is_whole = True
    if not is_whole:
        sys.exit(INTERRUPTED)
