"""How a group is named on a command line: NAME, or NAMESPACE/NAME where several namespaces have one of that name.

Knows which names a shell may offer. Does not know what a group is.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from penstock_operator.cli.sources import DEFAULT_NAMESPACE
from penstock_operator.local.state import DEFAULT_FOLDER, StateError, StateFolder
from penstock_operator.plan.declared import Identity
from penstock_operator.resources import QUEUE_GROUP

if TYPE_CHECKING:
    from kubernetes.aio.client import ApiClient

COMPLETION_SECONDS = 2.0
"""Who waits for a completion types on instead."""
KUBECONFIG, DEFAULT_KUBECONFIG = "KUBECONFIG", "~/.kube/config"
"""As storage.access has them, which takes a second to load: too long where there is no cluster anyway."""


def chosen(declared: Iterable[Identity], name: str | None) -> list[Identity]:
    """Return the group of this name, or without one all that there are; that there is none is an error."""
    groups = [identity for identity in declared if identity.kind == QUEUE_GROUP.name]
    if name is not None:
        found = [each for each in groups if name in (each.name, f"{each.namespace}/{each.name}")]
        if not found:
            known = f" There are: {', '.join(sorted(each.name for each in groups))}." if groups else ""
            raise click.ClickException(f"There is no QueueGroup {name}.{known}")
        if len(found) > 1:
            raise click.ClickException(f"There is a QueueGroup {name} in several namespaces: say NAMESPACE/{name}.")
        return found
    if not groups:
        raise click.ClickException("There is no QueueGroup.")
    return groups


def complete_group(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the names of the groups that `penstock up` runs, which are in a file, or else of a cluster's."""
    try:
        up = StateFolder(context.params.get("state") or DEFAULT_FOLDER).read()
    except StateError:
        return []
    names = [group.name for group in up.groups] if up else _in_cluster(context.params)
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _in_cluster(given: Mapping[str, str | None]) -> list[str]:
    """Return the names of a cluster's groups; none if it does not say at once."""
    if not (os.environ.get(KUBECONFIG) or Path(DEFAULT_KUBECONFIG).expanduser().is_file()):
        return []
    from penstock_operator.cli import cluster  # noqa: PLC0415 - a second of imports
    from penstock_operator.storage.access import current_namespace  # noqa: PLC0415

    async def names(client: "ApiClient") -> list[str]:
        async with asyncio.timeout(COMPLETION_SECONDS):
            where = given.get("namespace") or current_namespace(given.get("context")) or DEFAULT_NAMESPACE
            return [each["metadata"]["name"] for each in await cluster.objects_in(client, [QUEUE_GROUP.name], where)]

    try:
        return cluster.in_cluster(names, given.get("context"))
    except (click.ClickException, TimeoutError):
        return []


group_argument = click.argument("group", metavar="[GROUP]", required=False, shell_complete=complete_group)
one_group_argument = click.argument("group", metavar="GROUP", shell_complete=complete_group)
group_option = click.option(
    "--group",
    "-g",
    metavar="NAME",
    shell_complete=complete_group,
    help="Which QueueGroup's; needed where there are several.",
)
