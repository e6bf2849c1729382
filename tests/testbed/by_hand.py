"""What all commands of the testbed share: they run until they are told to end, and leave nothing behind.

Knows the terminal and the testbed's run. Does not know what is started.
"""

import contextlib
import signal
from collections.abc import Iterator

import click

from tests.testbed import run
from tests.testbed.ports import PortInUseError
from tools.console import CannotContinueError, say


@contextlib.contextmanager
def until_told() -> Iterator[None]:
    """Keep what the block starts until Ctrl-C or SIGTERM, then end it; what is missing becomes a sentence."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    owner = run.Owner()
    try:
        yield
        signal.pause()
    except KeyboardInterrupt:
        say("\nEnding …")
    except (CannotContinueError, PortInUseError) as problem:
        raise click.ClickException(str(problem)) from None
    finally:
        owner.end()
