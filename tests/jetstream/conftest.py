"""What tests of the client library share: servers, and connections to them."""

from collections.abc import AsyncIterator

import pytest

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.transport.connection import Connection
from tests.jetstream.raw import Raw, connected
from tests.jetstream.scene import Scene, scene
from tests.testbed.nats.server import NatsServer
from tests.testbed.nats.shared import NEWEST, SharedServers


@pytest.fixture
def server(shared_servers: SharedServers) -> NatsServer:
    """The newest server, shared between tests. A test that breaks its server takes one from `start_nats`."""
    return shared_servers.get(NEWEST)


@pytest.fixture
async def it(request: pytest.FixtureRequest, shared_servers: SharedServers, fresh_name: str) -> AsyncIterator[Scene]:
    """A scene on the newest server; `on_every_server` and `on_newest_servers` (scene.py) choose others."""
    server = shared_servers.get(getattr(request, "param", NEWEST))
    async with scene(server.url, fresh_name) as made:
        yield made


@pytest.fixture
async def connection(server: NatsServer) -> AsyncIterator[Connection]:
    """A connection to the newest server."""
    async with Connection(server.url) as opened:
        yield opened


@pytest.fixture
async def raw(every_server: NatsServer) -> AsyncIterator[Raw]:
    """A connection to a server of each variant, for what servers do by themselves."""
    async with connected(**every_server.connect_arguments()) as client:
        yield client


@pytest.fixture
def jetstream(connection: Connection) -> JetStream:
    """JetStream of the newest server."""
    return JetStream(connection)


@pytest.fixture
async def every_jetstream(every_server: NatsServer) -> AsyncIterator[JetStream]:
    """JetStream of a server of each variant."""
    async with Connection(every_server.url) as connection:
        yield JetStream(connection)
