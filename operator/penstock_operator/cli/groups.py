"""Queue groups, as commands find and reach them: from manifests, from what `penstock up` runs, or from a cluster.

Knows how a group is named on a command line, and that a Connection is opened once for all its groups. Does not know
what is asked of them.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Container, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import click

from penstock_jetstream import Connection, JetStream, Options
from penstock_jetstream.errors import JetStreamError
from penstock_operator.cli.naming import chosen
from penstock_operator.cli.output import say
from penstock_operator.cli.sources import Sources
from penstock_operator.local.home import LocalHome
from penstock_operator.local.state import GroupFolder
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.group_places import GroupPlace, group_place
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.plan.worker_settings import group_name
from penstock_operator.resources import ConnectionSpec, QueueGroupSpec
from penstock_operator.services.home import HomeError
from penstock_operator.services.nats.failures import told
from penstock_operator.services.nats.material import MaterialError, material, secret_names

NAME = "penstock command"
"""What servers show as the client's name."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group, and the way to all that is asked of it."""

    identity: Identity
    spec: QueueGroupSpec
    place: GroupPlace
    jetstream: JetStream
    folder: GroupFolder | None
    """Where `penstock up` keeps what there is of it; None where that does not run it, and never did."""

    @property
    def name(self) -> str:
        """What its workers call it."""
        return group_name(self.identity)

    @property
    def connection(self) -> Connection:
        return self.jetstream.connection


def with_groups(
    sources: Sources,
    name: str | None,
    work: Callable[[Sequence[Group]], Awaitable[T]],
    *,
    only: Container[Identity] | None = None,
) -> T:
    """Do something with the group of this name, or with all that there are, or some of these."""

    async def working(home: LocalHome) -> T:
        meant = [each for each in chosen(home.declared, name) if only is None or each in only]
        found = _found(home.declared, meant, is_one=name is not None)
        async with _opened(home, {each.place.connection for each in found}) as opened:
            return await work([_group(sources, each, opened[each.place.connection]) for each in found])

    try:
        return sources.with_home(working)
    except JetStreamError as problem:
        raise click.ClickException(told(problem)) from problem


def the_one(groups: Sequence[Group]) -> Group:
    """Return the only group, or have the person say which is meant."""
    if len(groups) == 1:
        return groups[0]
    names = ", ".join(group.identity.name for group in groups)
    raise click.UsageError(f"There are the QueueGroups {names}: say which is meant, with --group NAME.")


@dataclass(frozen=True, slots=True)
class _Found:
    identity: Identity
    spec: QueueGroupSpec
    place: GroupPlace


def _found(declared: Mapping[Identity, Declared], chosen: Sequence[Identity], *, is_one: bool) -> list[_Found]:
    """Find where each group gets its messages from; what of several cannot be found is said, and left out."""
    found = []
    for identity in chosen:
        spec = declared[identity].spec
        if not isinstance(spec, QueueGroupSpec):
            problem = f"Its spec cannot be understood: {declared[identity].fault}"
        elif isinstance(place := group_place(identity, spec, declared), Waiting):
            problem = place.message
        else:
            found.append(_Found(identity, spec, place))
            continue
        if is_one:
            raise click.ClickException(f"{identity}: {problem}")
        say(f"{identity}: {problem}")
    return found


def _group(sources: Sources, found: _Found, jetstream: JetStream) -> Group:
    folder = folder_of(sources, found.identity)
    return Group(identity=found.identity, spec=found.spec, place=found.place, jetstream=jetstream, folder=folder)


def folder_of(sources: Sources, identity: Identity) -> GroupFolder | None:
    """Return where `penstock up` keeps what there is of a group, if it runs it or has."""
    folder = sources.state.group(identity.namespace, identity.name)
    runs = sources.up is not None and any(
        (each.namespace, each.name) == (identity.namespace, identity.name) for each in sources.up.groups
    )
    return folder if sources.is_local and (runs or folder.is_known) else None


@asynccontextmanager
async def _opened(home: LocalHome, connections: set[Identity]) -> AsyncIterator[Mapping[Identity, JetStream]]:
    async with AsyncExitStack() as stack:
        yield {identity: await _open(home, identity, stack) for identity in sorted(connections)}


async def _open(home: LocalHome, identity: Identity, stack: AsyncExitStack) -> JetStream:
    declared = home.declared.get(identity)
    if declared is None or not isinstance(declared.spec, ConnectionSpec):
        raise click.ClickException(f"There is no {identity}, or its spec cannot be understood.")
    spec, namespace = declared.spec, identity.namespace
    try:
        made = material(namespace, spec, {name: await home.secret(namespace, name) for name in secret_names(spec)})
    except (MaterialError, HomeError) as problem:
        raise click.ClickException(f"{identity}: {problem}") from problem
    connection = Connection(
        made.servers, auth=made.auth, tls=made.tls, name=NAME, options=Options(reach=home.reach(namespace))
    )
    try:
        await stack.enter_async_context(connection)
    except JetStreamError as problem:
        raise click.ClickException(f"{identity}: {told(problem)}") from problem
    return JetStream(connection, domain=made.domain or None, api_prefix=made.api_prefix or None)
