"""`penstock up`: runs what manifests declare on this machine, shows how it stands, and ends it in order.

Knows its options, signals and exit codes, and how often what is shown is looked at. What is run is run by local.house.
"""

import asyncio
import logging
import signal
import sys
from pathlib import Path
from typing import Any

import click

from penstock_operator.cli.exit_codes import FAILED
from penstock_operator.cli.options import Number, files_option
from penstock_operator.cli.output import say
from penstock_operator.cli.sources import DEFAULT_NAMESPACE
from penstock_operator.cli.terminal import Show, showing
from penstock_operator.local.embedded_nats import EmbeddedNatsError
from penstock_operator.local.house import House, Options
from penstock_operator.local.manifests import ManifestError
from penstock_operator.local.state import DEFAULT_FOLDER, StateError

GRACE_SECONDS = 25.0
PATIENCE_SECONDS = 300.0
"""Longer than the longest rest between two attempts at a batch."""
LOOK_SECONDS = 0.25
"""Between two looks at how everything stands."""

state_option = click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_FOLDER,
    show_default=True,
    metavar="DIR",
    help="The folder where data, logs and what runs are kept.",
)


@click.command
@files_option("A file or folder with manifests. May be given more than once.")
@click.option("--recursive", "-R", is_flag=True, help="Read what is in folders of folders, too.")
@click.option(
    "--namespace",
    "-n",
    default=DEFAULT_NAMESPACE,
    show_default=True,
    metavar="NAMESPACE",
    help="The namespace of what names none.",
)
@click.option(
    "--secrets",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Where Secrets are that no manifest holds: the files DIR/NAME/KEY.",
)
@state_option
@click.option(
    "--port",
    type=Number(0, 65535),
    metavar="PORT",
    help="The port of embedded NATS servers, whatever the Connections say; 0 for any that is free.",
)
@click.option("--drain", is_flag=True, help="End once everything is processed, with code 1 if something could not be.")
@click.option(
    "--patience",
    "patience_seconds",
    type=click.FloatRange(min=0),
    default=PATIENCE_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="With --drain: how long nothing may be settled, while no batch runs, before that is a failure.",
)
@click.option(
    "--grace",
    "grace_seconds",
    type=click.FloatRange(min=0),
    default=GRACE_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long batches that run may go on once everything is to end.",
)
@click.pass_context
def up(context: click.Context, /, **said: Any) -> None:  # noqa: ANN401 - the fields of Options, as click has read them
    """Run what manifests declare on this machine: streams, consumers, and workers with Spark.

    The files are those of a cluster. They, and the code beside them, may be edited meanwhile. Ctrl-C ends everything in
    order, and once more at once; what is in the streams stays for the next time.

    \b
    Examples:
      penstock up -f manifests/
      penstock up -f examples/orders --drain
      penstock up -f manifests/ --secrets secrets/ --state /var/tmp/penstock
    """  # noqa: D301 - click wants the control character
    options = Options(**said)
    logging.basicConfig(level=logging.CRITICAL)  # what there is to say is said by events
    house = House(options)
    try:
        with showing(sys.stdout) as show:
            asyncio.run(_run(house, show))
    except (ManifestError, StateError, EmbeddedNatsError) as problem:
        raise click.ClickException(str(problem)) from problem
    if options.drain:
        context.exit(_told_end(house))


async def _run(house: House, show: Show) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, house.stop)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup has it: to outlive the terminal
        loop.add_signal_handler(signal.SIGHUP, house.hang_up)
    showing_it = asyncio.create_task(_show(house, show))
    try:
        await house.run()
    finally:
        showing_it.cancel()
        show(house.snapshot())


async def _show(house: House, show: Show) -> None:
    while True:
        show(house.snapshot())
        await asyncio.sleep(LOOK_SECONDS)


def _told_end(house: House) -> int:
    for failure in house.failures:
        say(click.style(f"{failure.about}: {failure.sentence}", fg="red"))
    return FAILED if house.failures else 0
