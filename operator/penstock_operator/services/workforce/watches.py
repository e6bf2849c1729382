"""Watches what the operator makes for queue groups, the pods that come of it, and which ConfigMaps change.

One watch for each kind, in each namespace that is served, or one for all; with a client of their own, as each keeps a
connection for itself. Knows what is watched. Does not know what is kept of it (fleets.py), nor who is woken.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from kubernetes.aio.client import ApiClient

from penstock_operator.plan.workload.naming import GROUP_LABEL
from penstock_operator.services.workforce.fleets import ConfigMapName, Fleets, Label, Scope
from penstock_operator.storage.access import find_access
from penstock_operator.storage.children import BUDGETS, CONFIG_MAPS, DEPLOYMENTS, NETWORK_POLICIES, PODS, Collection
from penstock_operator.storage.watching import Failed, Watched, watch

LABELLED = (DEPLOYMENTS, PODS, BUDGETS, NETWORK_POLICIES)

Concern = Callable[[Label | ConfigMapName], None]

logger = logging.getLogger(__name__)


async def watch_all(namespaces: Sequence[str], fleets: Fleets, concern: Concern) -> None:
    """Watch until cancelled; `concern` is called with each group, and each ConfigMap, of which something is new."""
    access = await find_access()
    access.connection_pool_maxsize = 0  # as many as there are watches
    scopes: Sequence[Scope] = namespaces or (None,)
    wanted = [(collection, scope) for collection in (*LABELLED, CONFIG_MAPS) for scope in scopes]
    for collection, scope in wanted:
        fleets.expect(collection, scope)
    async with ApiClient(access) as client, asyncio.TaskGroup() as tasks:
        for collection, scope in wanted:
            tasks.create_task(_watch(client, collection, scope, fleets, concern))


async def _watch(client: ApiClient, collection: Collection, scope: Scope, fleets: Fleets, concern: Concern) -> None:
    said = ""
    async for event in watch(client, _watched(collection, scope)):
        trouble = event.sentence if isinstance(event, Failed) else ""
        if trouble and trouble != said:
            logger.warning("%s cannot be watched: %s", collection.plural, trouble)
        said = trouble
        for whom in fleets.hear(collection, scope, event):
            concern(whom)


def _watched(collection: Collection, scope: Scope) -> Watched:
    if collection is CONFIG_MAPS:  # users make them, so they have no label of ours; and what is in them is not needed
        return Watched(collection.path(scope), only_metadata=True)
    return Watched(collection.path(scope), selector=GROUP_LABEL)
