"""Fixtures for tests of the engine: the shared NATS server, and a scene on it."""

from collections.abc import AsyncIterator

import pytest

from tests.testbed.nats.server import NatsServer
from tests.testbed.nats.shared import NEWEST, SharedServers
from tests.worker.engine.working import Scene, scene


@pytest.fixture
def server(shared_servers: SharedServers) -> NatsServer:
    return shared_servers.get(NEWEST)


@pytest.fixture
async def work(server: NatsServer, fresh_name: str) -> AsyncIterator[Scene]:
    """A scene with a group of its own, because all tests share the server's subjects."""
    async with scene(server.url, f"engine-{fresh_name}") as made:
        made.change(group=f"shop/{fresh_name}")
        yield made
