"""Where a command finds what is declared: manifests in files, what `penstock up` runs here, or a cluster.

Knows the options, what they choose, and which go together. Does not know how manifests are read (local) or a cluster is
asked (cluster.py).
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from penstock_operator.cli.options import MANIFESTS, SERVER_URL
from penstock_operator.cli.output import say
from penstock_operator.cli.running import Told, over, reached_as, reached_at, run_over
from penstock_operator.local.home import LocalHome
from penstock_operator.local.manifests import OUR_KINDS, ManifestError, Manifests, read_manifests
from penstock_operator.local.objects import objects
from penstock_operator.local.outcome import Outcome
from penstock_operator.local.run import RUN, RUN_HERE
from penstock_operator.local.state import DEFAULT_FOLDER, HomeRecord, StateError, StateFolder
from penstock_operator.plan.decision import Note
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.resources import QUEUE_GROUP, Kind
from penstock_operator.services.nats.examination import Finding

if TYPE_CHECKING:
    from kubernetes.aio.client import ApiClient

DEFAULT_NAMESPACE = "default"
PLUGIN = "kubectl penstock"
"""What the command is called where kubectl runs it."""
CLUSTER = "the cluster"
Found = Callable[[str, Finding], None]
"""Is told whose finding it is."""
T = TypeVar("T")


class HomeName(StrEnum):
    """Where objects live."""

    LOCAL = "local"
    KUBERNETES = "kubernetes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What the options say."""

    files: tuple[str, ...]
    recursive: bool
    namespace: str | None
    everywhere: bool
    context: str | None
    """Of the kubeconfig; None for its current one."""
    secrets: Path | None
    servers: tuple[str, ...]
    state: StateFolder
    up: HomeRecord | None
    """What `penstock up` runs, if it does."""
    home: HomeName

    @property
    def is_local(self) -> bool:
        return self.home is HomeName.LOCAL

    def manifests(self, heeded: Collection[str] = RUN) -> Manifests:
        """Read what the files declare, and tell what is skipped, be it for its kind."""
        try:
            found = read_manifests(self.files, self._default_namespace(), datetime.now(UTC), recursive=self.recursive)
        except ManifestError as problem:
            raise click.ClickException(str(problem)) from problem
        for sentence in found.skipped:
            say(sentence)
        for identity, place in found.places.items():
            if identity.kind not in heeded:
                say(f"{place}: {identity} is left alone: this command does nothing to a {identity.kind} yet.")
        return found

    def local_home(self, heeded: Collection[str] = RUN_HERE) -> LocalHome:
        """Return the home that the files make, its Connections leading where they shall."""
        home = LocalHome(self.manifests(heeded), _tell_warning, self.secrets)
        if self.up is not None:
            reached_as(home, self.up)
        reached_at(home, self.servers)
        return home

    def with_home(self, work: Callable[[LocalHome], Awaitable[T]]) -> T:
        """Do something with what is declared, and the Secrets that go with it."""
        if self.is_local:
            return asyncio.run(_awaited(work(self.local_home(OUR_KINDS))))
        from penstock_operator.cli import cluster  # noqa: PLC0415 - a second of imports

        namespace = None if self.everywhere else self._default_namespace()

        async def working(client: "ApiClient") -> T:
            async with cluster.home_over(client, Manifests(), _tell_warning, self.secrets) as home:
                await home.lay_with_neighbours(client, RUN_HERE, namespace)
                reached_at(home, self.servers)
                return await work(home)

        return cluster.in_cluster(working, self.context)

    def in_cluster(self, work: Callable[["ApiClient", str | None], Awaitable[T]]) -> T:
        """Do something with a client of the cluster, and the namespace that is meant; None for all."""
        from penstock_operator.cli import cluster  # noqa: PLC0415 - a second of imports

        namespace = None if self.everywhere else self._default_namespace()
        return cluster.in_cluster(lambda client: work(client, namespace), self.context)

    def planned(self, *, force: bool) -> list[Outcome]:
        """Return what would become of the objects in the files."""
        if self.is_local:
            home = self.local_home()
            return run_over(home, home.declared, progress=LOOKED_AT)
        return self._planned_in_cluster(force=force)

    def applied(self, *, force: bool, seconds: float, told: Told) -> list[Outcome]:
        """Make it so, and return what became of the objects in the files; `told` hears of each as it is done."""
        if self.is_local:
            home = self.local_home()
            return run_over(home, home.declared, progress="Applied", told=told, seconds=seconds)
        from penstock_operator.cli import cluster, cluster_apply  # noqa: PLC0415 - a second of imports

        manifests = self.manifests()
        return cluster.in_cluster(
            lambda client: cluster_apply.apply_and_wait(client, manifests, force=force, seconds=seconds, told=told),
            self.context,
        )

    def objects(self, kinds: Sequence[Kind]) -> Sequence[Mapping[str, Any]]:
        """Return the objects of these kinds with their status."""
        if self.is_local:
            home = self.local_home()
            outcomes = run_over(home, home.declared, progress=LOOKED_AT)
            found = objects(home.contents, outcomes, self._statuses_by_up(home.declared))
            return [each for each in found if each["kind"] in {kind.name for kind in kinds}]
        from penstock_operator.cli import cluster  # noqa: PLC0415 - a second of imports

        namespace = None if self.everywhere else self._default_namespace()
        return cluster.in_cluster(
            lambda client: cluster.objects_in(client, [kind.name for kind in kinds], namespace), self.context
        )

    def _statuses_by_up(self, declared: Iterable[Identity]) -> Mapping[Identity, Mapping[str, Any]]:
        groups = [each for each in declared if self.up and each.kind == QUEUE_GROUP.name]
        return {each: self.state.group(each.namespace, each.name).status for each in groups}

    def examine_cluster(self, told: Found, work: Callable[[LocalHome], Awaitable[None]]) -> None:
        """Look at a cluster, then do something with what a namespace of it declares, or all of them, then at groups."""
        from penstock_operator.cli import cluster, cluster_checkup, group_checkup  # noqa: PLC0415 - a second of imports

        namespace = None if self.everywhere else self._default_namespace()

        async def working(client: "ApiClient") -> None:
            pods = await cluster_checkup.pods_of_operator(client)
            async for finding in cluster_checkup.examine_cluster(client, pods, namespace or DEFAULT_NAMESPACE):
                told(CLUSTER, finding)
            async with cluster.home_over(client, Manifests(), _tell_warning, self.secrets) as home:
                home.lay(await cluster.objects_in(client, RUN, namespace))
                await work(home)
                await home.lay_with_neighbours(client, RUN_HERE, namespace)
                arguments = pods[0].arguments if pods else ()
                for group in group_checkup.groups_of(home.declared, namespace):
                    async for finding in group_checkup.examine_group(client, group, home.declared, arguments):
                        told(str(group.identity), finding)

        cluster.in_cluster(working, self.context)

    def _planned_in_cluster(self, *, force: bool) -> list[Outcome]:
        from penstock_operator.cli import cluster  # noqa: PLC0415 - a second of imports

        manifests = self.manifests()

        async def plan(client: "ApiClient") -> list[Outcome]:
            made, refused = await cluster.applied(client, manifests, dry_run=True, force=force)
            async with cluster.home_over(client, manifests, _tell_warning, self.secrets) as home:
                home.lay(await cluster.all_around(client, list(made)))
                home.lay(made.values())
                reached_at(home, self.servers)
                wanted = [each for each in manifests.contents if each in made and each.kind in RUN]
                return refused + await over(home, wanted, progress=LOOKED_AT)

        return cluster.in_cluster(plan, self.context)

    def _default_namespace(self) -> str:
        """Return the namespace that is meant where none is named, as kubectl finds it."""
        if self.namespace or self.is_local:
            return self.namespace or DEFAULT_NAMESPACE
        from penstock_operator.storage.access import current_namespace  # noqa: PLC0415 - a second of imports

        return current_namespace(self.context) or DEFAULT_NAMESPACE


LOOKED_AT = "Looked at"


async def _awaited(work: Awaitable[T]) -> T:
    return await work


def _tell_warning(declared: Declared, note: Note) -> None:
    if note.is_warning:
        say(f"{declared.identity}: {note.message}")


CONTEXT_OPTION = click.option(
    "--context", metavar="NAME", help="Which cluster: a context of the kubeconfig; by default its current one."
)
OPTIONS = (
    click.option(
        "--filename",
        "-f",
        "files",
        multiple=True,
        type=MANIFESTS,
        metavar="PATH",
        help="A file or folder with manifests, or - for standard input. May be given more than once.",
    ),
    click.option("--recursive", "-R", is_flag=True, help="Read what is in folders of folders, too."),
    click.option(
        "--namespace",
        "-n",
        metavar="NAMESPACE",
        help="The namespace of what names none; in a cluster by default that of the kubeconfig's context.",
    ),
    click.option(
        "--all-namespaces", "-A", "everywhere", is_flag=True, help="Show a cluster's objects of all namespaces."
    ),
    CONTEXT_OPTION,
    click.option(
        "--secrets",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Where Secrets are that no manifest holds: the files DIR/NAME/KEY.",
    ),
    click.option(
        "--server",
        "servers",
        multiple=True,
        type=SERVER_URL,
        metavar="URL",
        help="Reach NATS here, whatever the Connections say. May be given more than once.",
    ),
    click.option(
        "--state",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        default=DEFAULT_FOLDER,
        show_default=True,
        help="The folder where `penstock up` says what it runs.",
    ),
    click.option(
        "--home",
        type=click.Choice([home.value for home in HomeName]),
        help="Where objects live; by default local where -f is given or `penstock up` runs, and kubernetes otherwise.",
    ),
)


force_option = click.option(
    "--force-conflicts", is_flag=True, help="In a cluster, take over fields that somebody else has said."
)


def source_options(*, needs_files: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command these options, as one argument `sources`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_sources(*args: Any, **given: Any) -> Any:  # noqa: ANN401 - click's
            names = ("files", "recursive", "namespace", "everywhere", "context", "secrets", "servers")
            chosen = {name: given.pop(name) for name in names}
            chosen["state"] = StateFolder(given.pop("state"))
            return command(*args, sources=_sources(chosen, given.pop("home"), needs_files=needs_files), **given)

        for option in reversed(OPTIONS):
            with_sources = option(with_sources)
        return with_sources

    return decorate


def _sources(chosen: dict[str, Any], home: str | None, *, needs_files: bool) -> Sources:
    if needs_files and not chosen["files"]:
        raise click.UsageError("Say which manifests are meant: -f PATH, or -f - for standard input.")
    home = home or clusters_home(chosen["context"])
    up = _up(chosen["state"]) if home != HomeName.KUBERNETES else None
    if home is None:
        home = HomeName.LOCAL if chosen["files"] or (up and not chosen["servers"]) else HomeName.KUBERNETES
    if home == HomeName.LOCAL and not chosen["files"]:
        if up is None:
            raise click.UsageError("The local home is made of manifests: say which, with -f PATH.")
        chosen |= {"files": up.files, "recursive": up.recursive}
        chosen["namespace"] = chosen["namespace"] or up.default_namespace
        chosen["secrets"] = chosen["secrets"] or (Path(up.secrets) if up.secrets else None)
    return Sources(home=HomeName(home), up=up, **chosen)


def clusters_home(context: str | None) -> HomeName | None:
    """Return the cluster where nobody says which home is meant, but names a context, or runs the command by kubectl."""
    is_plugin = click.get_current_context().find_root().info_name == PLUGIN
    return HomeName.KUBERNETES if context or is_plugin else None


def _up(state: StateFolder) -> HomeRecord | None:
    try:
        return state.read()
    except StateError as problem:
        raise click.ClickException(str(problem)) from problem
