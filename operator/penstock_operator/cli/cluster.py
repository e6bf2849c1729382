"""A cluster, as commands see it: its objects, what manifests make of them, and Secrets where no manifest has them.

Knows how a person is told what the API server would not do. Does not know what is printed. Imported when a cluster is
meant only: the client takes a second to load.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import click
from kubernetes.aio.client import ApiClient
from typing_extensions import override

from penstock_jetstream import Reach
from penstock_operator.cli.ways import Ways
from penstock_operator.local.home import LocalHome, Teller
from penstock_operator.local.manifests import Manifests
from penstock_operator.local.outcome import Change, Outcome
from penstock_operator.local.run import RUN
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.dependencies import depends_on
from penstock_operator.plan.reasons import Reason
from penstock_operator.storage.access import NoAccessError, find_access
from penstock_operator.storage.errors import HomeError, RefusedError
from penstock_operator.storage.forwarding import Forwarding
from penstock_operator.storage.kubernetes_home import KubernetesHome
from penstock_operator.storage.objects import Object, apply_object, objects_of

UNAUTHORIZED, FORBIDDEN, CONFLICT = 401, 403, 409
AT_ONCE = 16

T = TypeVar("T")


def in_cluster(work: Callable[[ApiClient], Awaitable[T]], context: str | None = None) -> T:
    """Do something with a client of the cluster that a context of the kubeconfig names, or its current one."""

    async def working() -> T:
        async with ApiClient(await find_access(context)) as client:
            return await work(client)

    try:
        return asyncio.run(working())
    except (NoAccessError, HomeError) as problem:
        raise click.ClickException(str(problem)) from problem


async def objects_in(client: ApiClient, kinds: Sequence[str], namespace: str | None) -> list[Object]:
    """List objects, in the order of their kinds."""

    async def listed(kind: str) -> list[Object]:
        try:
            return await objects_of(client, kind, namespace)
        except RefusedError as refusal:
            raise click.ClickException(_listing_sentence(refusal, kind, namespace)) from refusal

    return [each for found in await asyncio.gather(*map(listed, kinds)) for each in found]


async def all_around(client: ApiClient, wanted: Sequence[Identity]) -> list[Object]:
    """List what manifests may refer to or be in conflict with: everywhere or, if that is not allowed, beside them."""
    try:
        found = await asyncio.gather(*(objects_of(client, kind, None) for kind in RUN))
        return [each for some in found for each in some]
    except RefusedError as refusal:
        if refusal.code != FORBIDDEN:
            raise
    namespaces = sorted({identity.namespace for identity in wanted})
    return [each for namespace in namespaces for each in await objects_in(client, RUN, namespace)]


async def applied(
    client: ApiClient, manifests: Manifests, *, dry_run: bool, force: bool
) -> tuple[dict[Identity, Object], list[Outcome]]:
    """Apply all manifests, Connections first, and return what they make, and which the API server refuses and why."""
    made: dict[Identity, Object] = {}
    refused: list[Outcome] = []
    gate = asyncio.Semaphore(AT_ONCE)

    async def apply(identity: Identity) -> None:
        async with gate:
            try:
                made[identity] = await apply_object(
                    client, identity, manifests.contents[identity], dry_run=dry_run, force=force
                )
            except RefusedError as refusal:
                refused.append(_refused(identity, refusal))

    await asyncio.gather(*map(apply, manifests.contents))
    return made, refused


class ClusterHome(LocalHome):
    """What a cluster declares, with manifests laid over it: for looking only, nothing is written."""

    def __init__(
        self, client: ApiClient, ways: Ways, manifests: Manifests, teller: Teller, secrets: Path | None
    ) -> None:
        super().__init__(manifests, teller, secrets)
        self._cluster = KubernetesHome(client)
        self._ways = ways

    def lay(self, objects: Iterable[Object]) -> None:
        """Take these in place of what is known of them."""
        for each in objects:
            declared = Declared.read(each)
            self.declared[declared.identity] = declared

    async def lay_with_neighbours(self, client: ApiClient, kinds: Sequence[str], namespace: str | None) -> None:
        """Take in the objects of a namespace, or of all, and those of the namespaces that they refer to."""
        self.lay(await objects_in(client, kinds, namespace))
        known = {namespace}
        while namespace is not None and (more := self._referred_to() - known):
            known |= more
            for each in sorted(more):
                self.lay(await objects_in(client, RUN, each))

    def _referred_to(self) -> set[str]:
        world = self.declared
        return {identity.namespace for each in list(world.values()) for identity in depends_on(each, world)}

    @override
    async def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        given = await super().secret(namespace, name)
        return await self._cluster.secret(namespace, name) if given is None else given

    @override
    def reach(self, namespace: str) -> Reach | None:
        return self._ways.reach(namespace)

    @override
    async def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        return {**await self._cluster.namespace_labels(namespace), **await super().namespace_labels(namespace)}


@asynccontextmanager
async def home_over(
    client: ApiClient, manifests: Manifests, teller: Teller, secrets: Path | None
) -> AsyncIterator[ClusterHome]:
    """Make the home, for as long as there are ways to what it names."""
    async with Forwarding(client) as forwarding:
        yield ClusterHome(client, Ways(client, forwarding), manifests, teller, secrets)


def _listing_sentence(refusal: RefusedError, kind: str, namespace: str | None) -> str:
    where = f"in namespace {namespace}" if namespace else "in all namespaces"
    match refusal.code:
        case 401:
            return "The API server does not accept your credentials."
        case 403:
            narrower = "" if namespace else "\nhint: name a namespace, with -n"
            return f"You may not list objects of kind {kind} {where}: the cluster's roles decide.{narrower}"
        case 404:
            crds = "penstock crds | kubectl apply --server-side -f -"
            return f"The cluster does not know the kind {kind}.\nhint: install the definitions: {crds}"
        case _:
            return str(refusal)


def _refused(identity: Identity, refusal: RefusedError) -> Outcome:
    """Tell what the API server has against a manifest, in its own words: the CRD's rules are sentences."""
    if refusal.code == UNAUTHORIZED:
        message = "The API server does not accept your credentials."
    elif refusal.code == FORBIDDEN:
        message = "You may not apply it: the cluster's roles decide."
    else:
        message = " ".join(refusal.causes) or str(refusal)
    change = Change.CONFLICT if refusal.code == CONFLICT else Change.REFUSED
    return Outcome(identity=identity, change=change, reason=Reason.REFUSED, message=message)
