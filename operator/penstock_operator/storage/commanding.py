"""What a person at a command line has a QueueGroup do: stop, go on, start its workers anew.

Knows that each is said in the object itself, under a name of our own, so that it is seen who said it, and that it is
taken back by saying no more of it. Does not know what follows from it: the operator does.
"""

from collections.abc import Mapping
from typing import Any

from kubernetes.aio.client import ApiClient

from penstock_operator.constants import API_VERSION
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.workload.naming import RESTART_ANNOTATION
from penstock_operator.storage import paths
from penstock_operator.storage.api import APPLY_PATCH, MERGE_PATCH, ask

MANAGER = "penstock-cli"

Object = dict[str, Any]


async def look(client: ApiClient, identity: Identity) -> Object:
    """Return the object as it is now, with who has said what of it."""
    found: Object = await ask(client, "GET", paths.of_object(identity))
    return found


async def suspend(client: ApiClient, found: Object, identity: Identity) -> Object:
    """Say that its workers stop, whoever says otherwise."""
    return await _say(client, found, identity, {"spec": {"suspend": True}})


async def resume(client: ApiClient, found: Object, identity: Identity) -> Object:
    """Say no more that they stop. Somebody else may still."""
    return await _say(client, found, identity, {})


async def restart(client: ApiClient, identity: Identity, when: str) -> Object:
    """Have its workers started anew, one after the other."""
    patch = {"metadata": {"annotations": {RESTART_ANNOTATION: when}}}
    query = [("fieldManager", MANAGER)]
    made: Object = await ask(client, "PATCH", paths.of_object(identity), patch, content_type=MERGE_PATCH, query=query)
    return made


async def _say(client: ApiClient, found: Object, identity: Identity, said: Mapping[str, Any]) -> Object:
    """Say this of it, and nothing else any more. The uid keeps a group that is gone from being made again."""
    metadata = {"name": identity.name, "namespace": identity.namespace, "uid": found["metadata"]["uid"]}
    manifest = {"apiVersion": API_VERSION, "kind": identity.kind, "metadata": metadata, **said}
    query = [("fieldManager", MANAGER), ("force", "true")]
    made: Object = await ask(
        client, "PATCH", paths.of_object(identity), manifest, content_type=APPLY_PATCH, query=query
    )
    return made
