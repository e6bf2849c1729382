"""Objects of our kinds in a cluster, for a person at a command line: listed, and applied as kubectl would.

Knows server-side apply, with and without a dry run. Does not know what the objects say.
"""

from collections.abc import Mapping
from typing import Any

from kubernetes.aio.client import ApiClient

from penstock_operator.constants import API_VERSION
from penstock_operator.plan.declared import Identity
from penstock_operator.resources import KINDS
from penstock_operator.storage import paths
from penstock_operator.storage.api import APPLY_PATCH, ask
from penstock_operator.storage.pages import list_objects

FIELD_MANAGER = "penstock"
"""Who has said what, by name, in an object's managedFields."""
BY_NAME = {kind.name: kind for kind in KINDS}

Object = dict[str, Any]


async def objects_of(client: ApiClient, kind: str, namespace: str | None) -> list[Object]:
    """Return all objects of a kind, each as complete as if it had been asked for by itself."""
    listed = list_objects(client, BY_NAME[kind], [namespace] if namespace else [])
    return [_complete(kind, each) async for each in listed]


async def apply_object(
    client: ApiClient, identity: Identity, manifest: Mapping[str, Any], *, dry_run: bool, force: bool
) -> Object:
    """Apply a manifest, and return the object that it makes; with `force`, over what other managers have said."""
    query = [("fieldManager", FIELD_MANAGER), ("fieldValidation", "Strict"), ("force", str(force).lower())]
    if dry_run:
        query.append(("dryRun", "All"))
    path = paths.of_object(identity)
    made: Object = await ask(client, "PATCH", path, manifest, content_type=APPLY_PATCH, query=query)
    return _complete(identity.kind, made)


def _complete(kind: str, found: Mapping[str, Any]) -> Object:
    """Name what a list leaves out, and leave out who has written which field: nobody here asks."""
    metadata = {key: value for key, value in found["metadata"].items() if key != "managedFields"}
    rest = {key: value for key, value in found.items() if key not in ("apiVersion", "kind", "metadata")}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, **rest}
