"""`penstock doctor`: looks at everything that must hold for Penstock to work, and says what to do about what does not.

Knows which Connections are meant, and how findings are shown. What is looked at is for services.nats.examination.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from penstock_operator.cli.exit_codes import FAILED
from penstock_operator.cli.output import Form, form_option, print_data
from penstock_operator.cli.sources import Sources, source_options
from penstock_operator.cli.widths import printable
from penstock_operator.local.home import LocalHome
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.faults import fault_of
from penstock_operator.resources import ConnectionSpec
from penstock_operator.services.home import HomeError
from penstock_operator.services.nats.examination import Finding, Verdict, examine
from penstock_operator.services.nats.material import secret_names

MARKS: Mapping[Verdict, tuple[str, str]] = {
    Verdict.GOOD: ("✓", "green"),
    Verdict.DOUBTFUL: ("!", "yellow"),
    Verdict.BAD: ("✗", "red"),
}
CREDENTIALS, KEY = "credentials", "user.creds"
"""The Secret that --creds is taken for."""

Told = Callable[[str, Finding], None]


@click.command
@source_options(needs_files=False)
@click.option(
    "--creds",
    "credentials",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --server and no manifests: the credentials file of the user.",
)
@form_option
@click.pass_context
def doctor(context: click.Context, *, sources: Sources, credentials: Path | None, form: Form) -> None:
    """Look at everything that must hold for Penstock to work, without changing anything.

    Of each Connection: its Secrets, each server, JetStream, each permission, clocks, limits. Without -f and --server
    the Connections are those of the cluster, and the cluster itself is looked at: the definitions of our kinds, the
    operator, its rights, and whether pods can be made of each QueueGroup. Exits with code 1 if something does not hold.

    \b
    Examples:
      penstock doctor -f manifests/
      penstock doctor --server nats://127.0.0.1:4222 --creds user.creds
      penstock doctor -n orders
    """  # noqa: D301 - click wants the control character
    found: list[tuple[str, Finding]] = []

    def hear(whose: str, finding: Finding) -> None:
        if form is Form.TABLE:
            _show(whose, finding, is_first=not found or found[-1][0] != whose)
        found.append((whose, finding))

    _examine(sources, credentials, hear)
    if not found:
        raise click.ClickException("There is no Connection to look at.\nhint: -f PATH, --server URL, or -n NAMESPACE")
    if form is not Form.TABLE:
        print_data(form, {"findings": [_data(whose, finding) for whose, finding in found]})
    if any(finding.verdict is Verdict.BAD for _, finding in found):
        context.exit(FAILED)


def _examine(sources: Sources, credentials: Path | None, told: Told) -> None:
    if sources.servers and not sources.files:
        asyncio.run(_examine_servers(sources.servers, credentials.read_bytes() if credentials else None, told))
        return
    if credentials:
        raise click.UsageError("--creds goes with --server, and without -f: a manifest names its Secrets itself.")
    if sources.is_local:
        home = sources.local_home()
        asyncio.run(examine_all(home.declared.values(), home, told))
    else:
        sources.examine_cluster(told, lambda home: examine_all(home.declared.values(), home, told))


async def _examine_servers(servers: tuple[str, ...], credentials: bytes | None, told: Told) -> None:
    auth = {"credentialsSecretRef": {"name": CREDENTIALS, "key": KEY}} if credentials else None
    data = {CREDENTIALS: {KEY: credentials}} if credentials else {}
    try:
        spec = ConnectionSpec.read({"servers": list(servers), **({"auth": auth} if auth else {})})
    except ValidationError as problem:
        raise click.UsageError(f"--server: {fault_of(problem)}") from None  # the cause would quote the whole input
    async for finding in examine(spec, "", data):
        told(" ".join(servers), finding)


async def examine_all(objects: Iterable[Declared], home: LocalHome, told: Told) -> None:
    """Look at all Connections among these objects."""
    for declared in list(objects):
        if not isinstance(declared.spec, ConnectionSpec):
            continue
        namespace = declared.identity.namespace
        try:
            secrets = {name: await home.secret(namespace, name) for name in secret_names(declared.spec)}
        except HomeError as problem:
            told(str(declared.identity), Finding("Secrets", Verdict.BAD, str(problem)))
            continue
        async for finding in examine(declared.spec, namespace, secrets, home.reach(namespace)):
            told(str(declared.identity), finding)


def _show(whose: str, finding: Finding, *, is_first: bool) -> None:
    if is_first:
        click.echo(whose)
    mark, colour = MARKS[finding.verdict]
    click.echo(f"  {click.style(mark, fg=colour)} {printable(f'{finding.what}: {finding.sentence}')}")
    if finding.cure:
        click.echo(f"      {finding.cure}")


def _data(whose: str, finding: Finding) -> dict[str, Any]:
    found = {"of": whose, "what": finding.what, "verdict": finding.verdict.value, "sentence": finding.sentence}
    return {**found, "cure": finding.cure} if finding.cure else found
