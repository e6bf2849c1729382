"""All objects of a kind, as they are at one moment, page by page: never all of them in memory.

Knows how the API server hands out long lists. Does not know what they are read for (services.filling).
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from kubernetes.aio.client import ApiClient

from penstock_operator.plan.declared import Identity
from penstock_operator.resources import Kind
from penstock_operator.storage import paths
from penstock_operator.storage.api import JSON, ask

PAGE_OBJECTS = 250
"""A page of objects is a megabyte or so."""
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


async def list_objects(client: ApiClient, kind: Kind, namespaces: Sequence[str]) -> AsyncIterator[dict[str, Any]]:
    """Yield each object of the kind in the namespaces, or in all."""
    for namespace in namespaces or (None,):
        async for item in _list(client, kind, namespace, JSON):
            yield {**item, "kind": kind.name}  # in a list they do not say it themselves


async def list_uids(client: ApiClient, kind: Kind, namespaces: Sequence[str]) -> frozenset[str]:
    """Return who there is, without reading what they say."""
    found: set[str] = set()
    for namespace in namespaces or (None,):
        async for item in _list(client, kind, namespace, METADATA_ONLY):
            found.add(item["metadata"]["uid"])
    return frozenset(found)


async def is_listed(client: ApiClient, identity: Identity, uid: str) -> bool:
    """Tell whether an object is there, by the right to list: the operator has none to get objects of its kinds."""
    only = [("fieldSelector", f"metadata.name={identity.name}")]
    found = [
        item["metadata"]["uid"]
        async for page in pages(client, paths.of_all(identity), accept=METADATA_ONLY, query=only)
        for item in page["items"] or ()
    ]
    return uid in found


async def _list(client: ApiClient, kind: Kind, namespace: str | None, accept: str) -> AsyncIterator[dict[str, Any]]:
    async for page in pages(client, paths.of_kind(kind, namespace), accept=accept):
        for item in page["items"] or ():  # a list of metadata says null for nothing
            yield item


async def pages(
    client: ApiClient, path: str, *, accept: str, query: Sequence[tuple[str, str]] = ()
) -> AsyncIterator[dict[str, Any]]:
    """Yield each page of the list at a path, as the API server answers it."""
    limit, following = ("limit", str(PAGE_OBJECTS)), list[tuple[str, str]]()
    while True:
        page = await ask(client, "GET", path, query=[*query, limit, *following], accept=accept)
        yield page
        token = page["metadata"].get("continue")
        if not token:
            return
        following = [("continue", token)]
