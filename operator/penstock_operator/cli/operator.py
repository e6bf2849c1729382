"""`penstock operator`: runs the operator until it is told to stop.

Knows its options; handlers.process does the work.
"""

import asyncio
import signal
import sys
from importlib import metadata
from types import FrameType

import click
from typing_extensions import override

from penstock_operator import logs
from penstock_operator.cli.exit_codes import DONE
from penstock_operator.cli.options import Number
from penstock_operator.plan.lease import DURATION_SECONDS, Terms
from penstock_operator.plan.workload import Equipment, PodSecurity
from penstock_operator.services.address import Address

LEASE_SECONDS_MIN = 3
"""Shorter, and a busy machine alone would make the lead go round."""
LEASE_SECONDS_MAX = 3600

SHORTEST_PERIOD_SECONDS = 0.1
WORKER_IMAGE = f"penstock/worker:{metadata.version('penstock')}"
"""As `make images` and the chart call it."""


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


class LeaseType(click.ParamType[tuple[str, str]]):
    """NAMESPACE/NAME."""

    name = "NAMESPACE/NAME"

    @override
    def convert(
        self, value: str | tuple[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        namespace, _, name = value.partition("/")
        if not namespace or not name or "/" in name:
            self.fail(f"{value!r} is not NAMESPACE/NAME, as in penstock/operator.", param, ctx)
        return namespace, name


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
    help="Where /healthz, /readyz and /metrics are served.",
)
@click.option(
    "--lease",
    type=LeaseType(),
    help="The Lease that says which of several replicas acts; the others stand by. Without it, this one acts alone.",
)
@click.option(
    "--lease-duration",
    "lease_seconds",
    type=Number(LEASE_SECONDS_MIN, LEASE_SECONDS_MAX),
    default=int(DURATION_SECONDS),
    show_default=True,
    metavar="SECONDS",
    help="How long others wait for a replica that is gone. The same for all of them.",
)
@click.option(
    "--period",
    "period_seconds",
    type=click.FloatRange(SHORTEST_PERIOD_SECONDS),
    default=15.0,
    show_default=True,
    metavar="SECONDS",
    help="How often servers and Secrets are read, in case nobody tells of a change.",
)
@click.option(
    "--worker-image",
    metavar="IMAGE",
    default=WORKER_IMAGE,
    show_default=True,
    help="The image of queue groups' workers: all of it where the code is in a ConfigMap, their engine in any case.",
)
@click.option(
    "--worker-pull-policy",
    type=click.Choice(["IfNotPresent", "Always", "Never"]),
    default="IfNotPresent",
    show_default=True,
    help="When nodes pull that image.",
)
@click.option(
    "--worker-pull-secret",
    "worker_pull_secrets",
    multiple=True,
    metavar="NAME",
    help="A Secret with a registry's credentials, in the namespaces of queue groups. May be given more than once.",
)
@click.option(
    "--pod-security",
    type=click.Choice([level.value for level in reversed(PodSecurity)]),
    default=PodSecurity.RESTRICTED.value,
    show_default=True,
    help="How much the template of a queue group may ask for, as Kubernetes' pod security standards have it.",
)
@click.option(
    "--log-format",
    type=click.Choice(["json", "text"]),
    default="json",
    show_default=True,
    help="One JSON object per line, or lines for people. Logs go to standard error.",
)
def operator(  # noqa: PLR0913, PLR0917 - its options
    namespaces: tuple[str, ...],
    probes: Address,
    lease: tuple[str, str] | None,
    lease_seconds: int,
    period_seconds: float,
    worker_image: str,
    worker_pull_policy: str,
    worker_pull_secrets: tuple[str, ...],
    pod_security: str,
    log_format: str,
) -> None:
    """Run the operator in the foreground, until SIGTERM or Ctrl-C.

    It reaches the cluster that it runs in, or the one that KUBECONFIG names. It keeps streams and consumers on NATS
    servers as they are declared there, runs as many workers for each queue group as its messages need, and says in each
    object's status how it stands.

    \b
    Examples:
      penstock operator
      penstock operator --namespace orders --namespace billing
      penstock operator --lease penstock/operator
      penstock operator --probes 127.0.0.1:8080 --log-format text
    """  # noqa: D301 - click wants the control character
    signal.signal(signal.SIGTERM, _leave)
    logs.configure(as_json=log_format == "json")
    from penstock_operator.handlers import process  # noqa: PLC0415 - seconds of imports, which SIGTERM may now interrupt

    equipment = Equipment(
        worker_image=worker_image,
        pull_policy=worker_pull_policy,
        pull_secrets=worker_pull_secrets,
        pod_security=PodSecurity(pod_security),
    )
    options = process.Options(
        namespaces=namespaces,
        address=probes,
        period_seconds=period_seconds,
        lease=lease,
        terms=Terms(lease_seconds),
        equipment=equipment,
    )
    try:
        asyncio.run(process.run(options))
    except process.OperatorError as problem:
        raise click.ClickException(str(problem)) from problem


def _leave(number: int, frame: FrameType | None) -> None:
    """End a process that has begun nothing: as a container's first process it would ignore SIGTERM otherwise."""
    del number, frame
    sys.exit(DONE)
