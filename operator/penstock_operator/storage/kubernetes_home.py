"""The Kubernetes home: status, finalizers, Secrets and namespaces' labels of objects that an API server keeps.

Each write tells which object it means (by uid), so that it never reaches one that has only inherited the name. Knows
the requests; api.py knows how they are sent, events.py what an event is. Does not know when anything is written.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from kubernetes.aio.client import ApiClient

from penstock_operator.logs import hidden
from penstock_operator.plan.decision import Note
from penstock_operator.plan.declared import Declared
from penstock_operator.storage import paths
from penstock_operator.storage.api import JSON_PATCH, NOT_FOUND, ask, find
from penstock_operator.storage.errors import ObjectChangedError, RefusedError
from penstock_operator.storage.events import Events
from penstock_operator.storage.pages import is_listed

PUBLIC = frozenset({"username", "tls.crt", "ca.crt"})
"""Keys of Secrets whose values may be told: a user may be called as a stream is."""
CHANGED = {NOT_FOUND, 409}
"""Gone, or newer than what the request was made from."""
UNPROCESSABLE = 422
"""What the patch makes is not valid, with the causes; without any, it is a test in the patch that does not hold."""


class KubernetesHome:
    """A home by way of an open client."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._events = Events(client)

    async def write_status(self, declared: Declared, status: Mapping[str, Any]) -> Mapping[str, Any]:
        path = paths.of_status(declared.identity)
        return await self._patch(declared, path, [_same(declared), _put("/status", status)])

    async def write_finalizers(self, declared: Declared, finalizers: Sequence[str]) -> Mapping[str, Any]:
        as_read = {"op": "test", "path": "/metadata/finalizers", "value": list(declared.finalizers) or None}
        change = _put("/metadata/finalizers", list(finalizers))
        return await self._patch(declared, paths.of_object(declared.identity), [_same(declared), as_read, change])

    async def exists(self, declared: Declared) -> bool:
        return await is_listed(self._client, declared.identity, declared.uid)

    async def tell(self, declared: Declared, note: Note) -> None:
        await self._events.tell(declared, note)

    async def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        secret = await find(self._client, paths.of_secret(namespace, name))
        if secret is None:
            return None
        data = {key: base64.b64decode(value) for key, value in _data(secret).items()}
        hidden.hide(value for key, value in data.items() if key not in PUBLIC)
        return data

    async def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        found = await find(self._client, paths.of_namespace(namespace))
        return {} if found is None else found["metadata"].get("labels") or {}

    async def _patch(self, declared: Declared, path: str, patch: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Change the object, and return it as it is after the change."""
        try:
            after: Mapping[str, Any] = await ask(self._client, "PATCH", path, patch, content_type=JSON_PATCH)
        except RefusedError as refusal:
            if refusal.code in CHANGED or (refusal.code == UNPROCESSABLE and not refusal.causes):
                raise ObjectChangedError(f"{declared.identity} is not what it was when it was read.") from refusal
            raise
        return after


def _same(declared: Declared) -> dict[str, Any]:
    return {"op": "test", "path": "/metadata/uid", "value": declared.uid}


def _put(path: str, value: object) -> dict[str, Any]:
    """Put a member in place of what is there, if anything is."""
    return {"op": "add", "path": path, "value": value}


def _data(secret: Mapping[str, Any]) -> Mapping[str, str]:
    return secret.get("data") or {}
