"""The servers that a place stands on: one behind a relay, or a cluster of three."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.testbed import run
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.relay import Relay
from tests.testbed.nats.server import NatsServer, Options
from tests.worker.engine.working import CONSUMER
from tools.console import CannotContinueError

STREAM = "chaos"
STORE_BYTES = 64 << 20


@dataclass(frozen=True)
class Site:
    """Servers that run."""

    nodes: tuple[NatsServer, ...]
    relay: Relay | None = None
    """Between the workers and the only server."""
    cluster: NatsCluster | None = None

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(node.url for node in self.nodes)

    @property
    def worker_urls(self) -> tuple[str, ...]:
        return self.urls if self.relay is None else (self.relay.url,)

    @property
    def link(self) -> Relay:
        """Return what can be broken between workers and server."""
        if self.relay is None:
            raise RuntimeError("Workers reach a cluster without a relay: it has no link to break.")
        return self.relay

    def heal(self) -> None:
        if self.relay is not None:
            self.relay.heal()

    async def victim(self) -> NatsServer:
        """Return the only server, or that which leads the consumer."""
        if self.cluster is None:
            return self.nodes[0]
        return await asyncio.to_thread(self.cluster.consumer_leader, STREAM, CONSUMER)


@contextmanager
def single(options: Options | None = None) -> Iterator[Site]:
    """Have one server, and a relay before it."""
    server = NatsServer(options)
    with _running(server) as site:
        yield site


@contextmanager
def clustered() -> Iterator[Site]:
    cluster = NatsCluster(3)
    try:
        cluster.start()
        yield Site(tuple(cluster.nodes), cluster=cluster)
    finally:
        cluster.close()


@contextmanager
def cramped() -> Iterator[Site]:
    """Have one server whose store is a small file system of its own: only root can make one."""
    if os.geteuid():
        raise CannotContinueError("A full disk needs a small file system, and mounting one needs root: run it as root.")
    server = NatsServer()
    server.store.mkdir()
    run.current().add_cleanup(server.folder.name, ["umount", "--quiet", str(server.store)])
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={STORE_BYTES}", "tmpfs", server.store], check=True)
    try:
        with _running(server) as site:
            yield site
    finally:
        subprocess.run(["umount", server.store], check=True)


@contextmanager
def _running(server: NatsServer) -> Iterator[Site]:
    try:
        server.start()
        with Relay(server.port) as relay:
            yield Site((server,), relay=relay)
    finally:
        server.close()
