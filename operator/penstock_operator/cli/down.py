"""`penstock down`: ends a `penstock up` that runs elsewhere, and deletes what it keeps if that is wanted.

Knows its options and exit codes, and signals. What is kept is known by local.state.
"""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import click

from penstock_operator.cli.options import timeout_option
from penstock_operator.cli.output import say
from penstock_operator.cli.up import state_option
from penstock_operator.local.state import StateError, StateFolder

PATIENCE_SECONDS = 120.0
LOOK_SECONDS = 0.1


@click.command
@state_option
@click.option("--delete", is_flag=True, help="Delete what is kept: the data of embedded servers, and all logs.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@timeout_option(PATIENCE_SECONDS, "How long to wait for the end.")
def down(*, state: Path, delete: bool, yes: bool, seconds: float) -> None:
    """End what `penstock up` runs: workers finish what they hold. What is in the streams stays, unless it is deleted.

    \b
    Examples:
      penstock down
      penstock down --delete --yes
      penstock down --state /var/tmp/penstock
    """  # noqa: D301 - click wants the control character
    folder = StateFolder(state)
    if delete and not yes and folder.path.exists():
        click.confirm(f"End everything, and delete all streams, messages and logs in {state}?", abort=True, err=True)
    try:
        _end(folder, seconds)
        if delete:
            _delete(folder)
    except StateError as problem:
        raise click.ClickException(str(problem)) from problem


def _end(folder: StateFolder, seconds: float) -> None:
    """End the `up` that has the folder, and wait until all that it started has ended."""
    if not folder.is_taken():
        say(f"Nothing runs with the state folder {folder.path}.")
        return
    home = folder.read()
    if home is not None:
        with suppress(ProcessLookupError):  # it was killed, and what it started is being ended already
            os.kill(home.pid, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while folder.is_taken():
        if time.monotonic() > deadline:
            raise StateError(f"What runs with the state folder {folder.path} has not ended within {seconds:g} s.")
        time.sleep(LOOK_SECONDS)
    say("Everything has ended.")


def _delete(folder: StateFolder) -> None:
    if folder.path.exists():
        folder.delete()
        say(f"Deleted {folder.path}.")
