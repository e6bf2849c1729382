"""What the operator makes for queue groups, as requests: applied as a whole, scaled, marked, and read.

Two field managers write a Deployment: `penstock` all that is declared, and `penstock-scaler` nothing but the number of
replicas, so that neither ever says what the other has to. Knows the requests, and where each kind is in the API. Does
not know what the objects are for (plan.workload), nor when they are written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubernetes.aio.client import ApiClient

from penstock_operator.plan.fleet.pods import COST_ANNOTATION
from penstock_operator.storage.api import APPLY_PATCH, MERGE_PATCH, NOT_FOUND, ask, find
from penstock_operator.storage.errors import RefusedError

APPLIER, SCALER = "penstock", "penstock-scaler"

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Collection:
    """Where the objects of a kind are."""

    api_version: str
    kind: str
    plural: str

    def path(self, namespace: str | None) -> str:
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        return f"{root}/{self.plural}" if namespace is None else f"{root}/namespaces/{namespace}/{self.plural}"


DEPLOYMENTS = Collection("apps/v1", "Deployment", "deployments")
PODS = Collection("v1", "Pod", "pods")
CONFIG_MAPS = Collection("v1", "ConfigMap", "configmaps")
BUDGETS = Collection("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
NETWORK_POLICIES = Collection("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
MADE = (DEPLOYMENTS, BUDGETS, NETWORK_POLICIES)
"""What the operator makes itself."""
BY_KIND = {each.kind: each for each in (*MADE, PODS, CONFIG_MAPS)}


class Children:
    """By way of an open client."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def apply(self, manifest: Mapping[str, Any], *, by: str = APPLIER, replicas: int | None = None) -> Object:
        """Apply a manifest, over whatever others have said of the same fields, and return the object."""
        body = manifest if replicas is None else {**manifest, "spec": {**manifest["spec"], "replicas": replicas}}
        query = [("fieldManager", by), ("force", "true")]
        path = _path(manifest)
        made: Object = await ask(self._client, "PATCH", path, body, content_type=APPLY_PATCH, query=query)
        return made

    async def scale(self, deployment: Mapping[str, Any], replicas: int) -> Object:
        """Say how many pods a Deployment is to have, and nothing else of it."""
        metadata = {name: deployment["metadata"][name] for name in ("namespace", "name", "uid")}
        said = {"apiVersion": DEPLOYMENTS.api_version, "kind": DEPLOYMENTS.kind, "metadata": metadata}
        return await self.apply({**said, "spec": {}}, by=SCALER, replicas=replicas)

    async def mark(self, namespace: str, pod: str, cost: int | None) -> None:
        """Say of a pod how soon it is to go when there are fewer, or no more; one that has gone needs no mark."""
        patch = {"metadata": {"annotations": {COST_ANNOTATION: None if cost is None else str(cost)}}}
        path = f"{PODS.path(namespace)}/{pod}"
        try:
            await ask(self._client, "PATCH", path, patch, content_type=MERGE_PATCH)
        except RefusedError as refusal:
            if refusal.code != NOT_FOUND:
                raise

    async def read(self, collection: Collection, namespace: str, name: str) -> Object | None:
        found: Object | None = await find(self._client, f"{collection.path(namespace)}/{name}")
        return found


def _path(manifest: Mapping[str, Any]) -> str:
    metadata = manifest["metadata"]
    return f"{BY_KIND[manifest['kind']].path(metadata['namespace'])}/{metadata['name']}"


def is_scaled_apart(deployment: Mapping[str, Any]) -> bool:
    """Tell whether the number of replicas is the scaler's own: whoever applies the rest may leave it out then.

    A field that no manager says any more gets its default, which is one pod.
    """
    entries = deployment["metadata"].get("managedFields") or ()
    return any(
        entry.get("manager") == SCALER and "f:replicas" in (entry.get("fieldsV1") or {}).get("f:spec", {})
        for entry in entries
    )
