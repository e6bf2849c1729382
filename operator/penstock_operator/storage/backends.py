"""Which pods stand behind a Service, for who is outside of the cluster and reaches none of its addresses.

Knows Services and EndpointSlices. Does not know how a pod is reached (forwarding.py).
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubernetes.aio.client import ApiClient

from penstock_operator.plan.service_hosts import ServiceHost
from penstock_operator.storage import paths
from penstock_operator.storage.api import ask
from penstock_operator.storage.errors import RefusedError

NOT_FOUND = 404
HEADLESS = "None"
OF_SERVICE = "kubernetes.io/service-name"

Json = Mapping[str, Any]


class NoSuchPortError(Exception):
    """The Service does not have the port. The text is a sentence."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A port of a pod that is ready."""

    namespace: str
    pod: str
    port: int
    address: str
    """The pod's, by which it may be told of by others."""


async def backends(client: ApiClient, host: ServiceHost, port: int) -> list[Backend] | None:
    """Return the pods behind a Service's port; None if there is no such Service."""
    slices_path = paths.of_endpoint_slices(host.namespace)
    try:
        service, slices = await asyncio.gather(
            ask(client, "GET", paths.of_service(host.namespace, host.service)),
            ask(client, "GET", slices_path, query=[("labelSelector", f"{OF_SERVICE}={host.service}")]),
        )
    except RefusedError as refusal:
        if refusal.code == NOT_FOUND:
            return None
        raise
    return [each for part in slices["items"] for each in _ready(host, part, _targets(host, service, part, port))]


def _targets(host: ServiceHost, service: Json, part: Json, port: int) -> Sequence[int]:
    """Return the pods' port that the Service's leads to. A name that means pods themselves leaves it as it is."""
    if service["spec"].get("clusterIP") == HEADLESS:
        return [port]
    ports = service["spec"].get("ports") or ()
    names = [each.get("name", "") for each in ports if each["port"] == port]
    if not names:
        has = ", ".join(str(each["port"]) for each in ports) or "none"
        raise NoSuchPortError(f"{host} has no port {port}. It has: {has}.")
    return [each["port"] for each in part.get("ports") or () if (each.get("name") or "") in names]


def _ready(host: ServiceHost, part: Json, ports: Sequence[int]) -> Iterator[Backend]:
    for endpoint in part.get("endpoints") or ():
        target = endpoint.get("targetRef") or {}
        is_ready = (endpoint.get("conditions") or {}).get("ready") is not False
        is_meant = host.pod in ("", endpoint.get("hostname"))
        if target.get("kind") == "Pod" and is_ready and is_meant:
            for port in ports:
                yield Backend(host.namespace, target["name"], port, endpoint["addresses"][0])
