"""Events, as `kubectl describe` shows them beneath an object: one for each thing that happens, with how often it did.

A repeat raises the count of the event that is there, also of one from an earlier life of the operator: its name follows
from the object and what is said. Knows core/v1 events. Does not know what is worth an event (plan does).
"""

import hashlib
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any

from kubernetes.aio.client import ApiClient

from penstock_operator.constants import API_VERSION
from penstock_operator.plan.decision import Note
from penstock_operator.plan.declared import Declared
from penstock_operator.storage import paths
from penstock_operator.storage.api import MERGE_PATCH, ask
from penstock_operator.storage.errors import RefusedError

COMPONENT = "penstock"
CONFLICT = 409
NOT_FOUND = 404
LONGEST_MESSAGE = 1024
"""What the API allows a note to be."""
LONGEST_NAME = 253
DIGEST_BYTES = 8
MOST_COUNTS = 4096
"""How many events' counts are remembered. One that is forgotten costs another request when it is repeated."""


class Events:
    """Tells people, by way of an open client."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._counts: OrderedDict[str, int] = OrderedDict()

    async def tell(self, declared: Declared, note: Note) -> None:
        name = _name(declared, note)
        if name not in self._counts and await self._create(declared, note, name):
            self._remember(name, 1)
        else:
            await self._repeat(declared, note, name)

    async def _create(self, declared: Declared, note: Note, name: str) -> bool:
        """Make the event; tell whether it was not there before."""
        path = paths.of_events(declared.identity.namespace)
        try:
            await ask(self._client, "POST", path, _event(declared, note, name))
        except RefusedError as refusal:
            if refusal.code != CONFLICT:
                raise
            return False
        return True

    async def _repeat(self, declared: Declared, note: Note, name: str) -> None:
        try:
            count = self._counts.get(name) or await self._count(declared, name)
            await self._patch(declared, name, {"count": count + 1, "lastTimestamp": _now()})
        except RefusedError as refusal:
            if refusal.code != NOT_FOUND:
                raise
            count = 0  # the API server forgets events after an hour
            await self._create(declared, note, name)
        self._remember(name, count + 1)

    async def _count(self, declared: Declared, name: str) -> int:
        """Ask how often it was told before this process: by an empty patch, as reading takes another right."""
        event = await self._patch(declared, name, {})
        return int(event.get("count") or 0)

    async def _patch(self, declared: Declared, name: str, patch: dict[str, Any]) -> dict[str, Any]:
        path = paths.of_event(declared.identity.namespace, name)
        event: dict[str, Any] = await ask(self._client, "PATCH", path, patch, content_type=MERGE_PATCH)
        return event

    def _remember(self, name: str, count: int) -> None:
        self._counts[name] = count
        self._counts.move_to_end(name)
        if len(self._counts) > MOST_COUNTS:
            self._counts.popitem(last=False)


def _name(declared: Declared, note: Note) -> str:
    said = f"{declared.uid} {note.reason} {note.message}"
    digest = hashlib.blake2b(said.encode(), digest_size=DIGEST_BYTES).hexdigest()
    return f"{declared.identity.name[: LONGEST_NAME - len(digest) - 1].rstrip('.-')}.{digest}"


def _event(declared: Declared, note: Note, name: str) -> dict[str, Any]:
    identity, now = declared.identity, _now()
    involved = {
        "apiVersion": API_VERSION,
        "kind": identity.kind,
        "namespace": identity.namespace,
        "name": identity.name,
        "uid": declared.uid,
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": identity.namespace, "name": name},
        "involvedObject": involved,
        "reason": note.reason,
        "message": note.message[:LONGEST_MESSAGE],
        "type": "Warning" if note.is_warning else "Normal",
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
