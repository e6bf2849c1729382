"""Fixtures for tests of commands: a NATS server, manifests, a queue group, and commands against a cluster."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.operator.cli.commands import ClusterScene, Declared
from tests.operator.cli.groups import RunningGroup, running_group
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.server import NatsServer
from tests.testbed.nats.shared import NEWEST, SharedServers


@pytest.fixture
def server(shared_servers: SharedServers) -> NatsServer:
    """The newest server, shared between tests, which name their streams with `fresh_name`."""
    return shared_servers.get(NEWEST)


@pytest.fixture
def declared(tmp_path: Path, server: NatsServer) -> Declared:
    return Declared(tmp_path / "manifests", server.url)


@pytest.fixture
async def orders(declared: Declared, server: NatsServer, fresh_name: str) -> AsyncIterator[RunningGroup]:
    async with running_group(declared, server.url, fresh_name) as made:
        yield made


@pytest.fixture
def scene(penstock_namespace: Namespace, declared: Declared) -> ClusterScene:
    return ClusterScene(penstock_namespace, declared)
