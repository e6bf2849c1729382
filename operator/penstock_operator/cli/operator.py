"""`penstock operator`: runs the operator until it is told to stop.

Knows its options; handlers.process does the work.
"""

import asyncio
import signal
import sys
from types import FrameType

import click
from typing_extensions import override

from penstock_operator import logs
from penstock_operator.cli.exit_codes import DONE
from penstock_operator.services.address import Address


class AddressType(click.ParamType[Address]):
    """HOST:PORT, as in 0.0.0.0:8080, [::]:8080 or :8080."""

    name = "HOST:PORT"

    @override
    def convert(self, value: str | Address, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        if isinstance(value, Address):
            return value
        try:
            return Address.parse(value)
        except ValueError as problem:
            self.fail(str(problem), param, ctx)


@click.command
@click.option(
    "--namespace",
    "-n",
    "namespaces",
    multiple=True,
    metavar="NAMESPACE",
    help="Serve this namespace only. May be given more than once. Without it, all namespaces are served.",
)
@click.option(
    "--probes",
    type=AddressType(),
    default=":8080",
    show_default=True,
    help="Where /healthz and /readyz are served.",
)
@click.option(
    "--log-format",
    type=click.Choice(["json", "text"]),
    default="json",
    show_default=True,
    help="One JSON object per line, or lines for people. Logs go to standard error.",
)
def operator(namespaces: tuple[str, ...], probes: Address, log_format: str) -> None:
    """Run the operator in the foreground, until SIGTERM or Ctrl-C.

    It reaches the cluster that it runs in, or the one that KUBECONFIG names. It watches Connections; it does not act on
    them yet.

    \b
    Examples:
      penstock operator
      penstock operator --namespace orders --namespace billing
      penstock operator --probes 127.0.0.1:8080 --log-format text
    """  # noqa: D301 - click wants the control character
    signal.signal(signal.SIGTERM, _leave)
    logs.configure(as_json=log_format == "json")
    from penstock_operator.handlers import process  # noqa: PLC0415 - seconds of imports, which SIGTERM may now interrupt

    try:
        asyncio.run(process.run(namespaces, probes))
    except process.OperatorError as problem:
        raise click.ClickException(str(problem)) from problem


def _leave(number: int, frame: FrameType | None) -> None:
    """End a process that has begun nothing: as a container's first process it would ignore SIGTERM otherwise."""
    del number, frame
    sys.exit(DONE)
