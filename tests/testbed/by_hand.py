"""What all commands of the testbed share: they run until they are told to end, and leave nothing behind."""

import contextlib
import signal
from collections.abc import Iterator

import click

from tests.testbed import run
from tests.testbed.ports import PortInUseError
from tests.testbed.programs import DidNotStartError
from tools.console import CannotContinueError, say


@contextlib.contextmanager
def opened_run() -> Iterator[run.Run]:
    """Have a run that ends with the block, on Ctrl-C and SIGTERM with success; what is missing becomes a sentence."""
    for number in (signal.SIGINT, signal.SIGTERM):  # SIGINT too: a shell has its background jobs ignore it
        signal.signal(number, signal.default_int_handler)
    owner = run.Owner()
    try:
        yield owner.run
    except KeyboardInterrupt:
        say("\nEnding …")
    except (CannotContinueError, DidNotStartError, PortInUseError) as problem:
        raise click.ClickException(str(problem)) from problem
    finally:
        owner.end()


def wait_until_interrupted() -> None:
    """Wait for Ctrl-C or SIGTERM."""
    signal.pause()
