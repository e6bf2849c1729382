"""Ways from a person's machine to NATS in a cluster: what a Connection names as a Service is forwarded.

Knows when a name is a Service's, and how a person is told why there is no way. Does not know how bytes are carried
(storage.forwarding). Within the cluster, and for any other name, addresses are dialled as they are.
"""

import asyncio
import random
import socket

from kubernetes.aio.client import ApiClient

from penstock_jetstream import Reach
from penstock_jetstream.errors import LinkError
from penstock_operator.plan.service_hosts import service_host
from penstock_operator.storage.access import is_within
from penstock_operator.storage.backends import Backend, NoSuchPortError, backends
from penstock_operator.storage.errors import HomeError, RefusedError
from penstock_operator.storage.forwarding import Forwarding

FORBIDDEN = 403
OR_SERVER = "Or reach NATS otherwise, and say where: --server URL."


class Ways:
    """For as long as the forwarding is open."""

    def __init__(self, client: ApiClient, forwarding: Forwarding) -> None:
        self._client = client
        self._forwarding = forwarding
        self._pods: dict[str, Backend] = {}
        """By their addresses: NATS servers tell clients of each other by these."""

    def reach(self, namespace: str) -> Reach | None:
        """Return the way for Connections of a namespace; None where names mean here what they mean to pods."""
        if is_within():
            return None

        async def reach(host: str, port: int) -> socket.socket | None:
            try:
                backend = self._pods.get(host) or await self._behind(host, port, namespace)
                return await self._forwarding.connect(backend) if backend else None
            except HomeError as problem:
                raise LinkError(f"{host}:{port} cannot be forwarded. {problem}", advice=OR_SERVER) from problem

        return reach

    async def _behind(self, host: str, port: int, namespace: str) -> Backend | None:
        """Return a pod behind a name, or None if it is to be dialled as it is."""
        meant = service_host(host, namespace)
        if meant is None:
            return None
        try:
            found = await backends(self._client, meant, port)
        except RefusedError as refusal:
            if refusal.code == FORBIDDEN and await _is_known_here(host, port):
                return None
            raise
        except NoSuchPortError as problem:
            raise LinkError(str(problem), advice="Correct the Connection's servers.") from problem
        if found is None:
            if await _is_known_here(host, port):
                return None
            raise LinkError(f"There is no {meant} in the cluster, and no host {host} is known here.", advice=OR_SERVER)
        if not found:
            advice = f"See kubectl -n {meant.namespace} get pods,endpointslices. {OR_SERVER}"
            raise LinkError(f"No pod is ready behind {meant}, which {host}:{port} means.", advice=advice)
        self._pods |= {each.address: each for each in found}
        return random.choice(found)  # noqa: S311 - any of them will do


async def _is_known_here(host: str, port: int) -> bool:
    try:
        await asyncio.get_running_loop().getaddrinfo(host, port)
    except OSError:
        return False
    return True
