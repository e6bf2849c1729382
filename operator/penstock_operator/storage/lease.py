"""A Lease in the Kubernetes API: read, and written only if it is still the version that was read.

Knows coordination.k8s.io/v1. Does not decide who holds it (plan.lease), nor when it is asked (services.election). The
times in it are for people, and for other programs that look at it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from kubernetes.aio.client import ApiClient
from typing_extensions import override

from penstock_operator.plan.lease import Claim, Record
from penstock_operator.storage.api import NOT_FOUND, ask, find
from penstock_operator.storage.errors import ObjectChangedError, RefusedError

API_VERSION = "coordination.k8s.io/v1"
CONFLICT = 409


class Lease:
    """One Lease, by way of an open client."""

    def __init__(self, client: ApiClient, namespace: str, name: str) -> None:
        self._client = client
        self._metadata = {"namespace": namespace, "name": name}
        self._all = f"/apis/{API_VERSION}/namespaces/{namespace}/leases"
        self._path = f"{self._all}/{name}"

    @override
    def __str__(self) -> str:
        return f"{self._metadata['namespace']}/{self._metadata['name']}"

    async def read(self) -> Record | None:
        found = await find(self._client, self._path)
        return None if found is None else _record(found)

    async def write(self, claim: Claim) -> Record:
        """Write the claim and return what is there now, or fail with ObjectChangedError if another was faster."""
        try:
            if claim.replaces:
                return _record(await ask(self._client, "PUT", self._path, self._document(claim)))
            return _record(await ask(self._client, "POST", self._all, self._document(claim)))
        except RefusedError as refusal:
            if refusal.code in (NOT_FOUND, CONFLICT):
                raise ObjectChangedError(f"The Lease {self} is not what it was.") from refusal
            raise

    def _document(self, claim: Claim) -> dict[str, Any]:
        now = _now()
        spec: dict[str, Any] = {
            "leaseDurationSeconds": max(1, round(claim.duration_seconds)),
            "leaseTransitions": claim.transitions,
            "renewTime": now,
            "acquireTime": claim.acquired_at or now,
        }
        if claim.holder:
            spec["holderIdentity"] = claim.holder
        metadata = self._metadata | ({"resourceVersion": claim.replaces} if claim.replaces else {})
        return {"apiVersion": API_VERSION, "kind": "Lease", "metadata": metadata, "spec": spec}


def _record(lease: Mapping[str, Any]) -> Record:
    spec = lease.get("spec") or {}
    return Record(
        version=lease["metadata"]["resourceVersion"],
        holder=spec.get("holderIdentity") or "",
        duration_seconds=spec.get("leaseDurationSeconds") or 0,
        transitions=spec.get("leaseTransitions") or 0,
        acquired_at=spec.get("acquireTime") or "",
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
