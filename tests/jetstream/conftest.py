"""What tests of the client library share: servers, and connections to them."""

from collections.abc import AsyncIterator

import pytest

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.transport.connection import Connection
from tests.jetstream.raw import Raw, connected
from tests.testbed.nats.server import NatsServer
from tests.testbed.nats.shared import NEWEST, NEWEST_VARIANTS, SharedServers


@pytest.fixture(params=NEWEST_VARIANTS)
def newest_server(request: pytest.FixtureRequest, shared_servers: SharedServers) -> NatsServer:
    """The newest server, with ack tokens of version 1 and of version 2."""
    return shared_servers.get(request.param)


@pytest.fixture
def server(shared_servers: SharedServers) -> NatsServer:
    """The newest server, shared between tests. A test that breaks its server takes one from `start_nats`."""
    return shared_servers.get(NEWEST)


@pytest.fixture
async def raw(every_server: NatsServer) -> AsyncIterator[Raw]:
    """A connection to a server of each variant, for what servers do by themselves."""
    async with connected(**every_server.connect_arguments()) as client:
        yield client


@pytest.fixture
async def jetstream(server: NatsServer) -> AsyncIterator[JetStream]:
    """JetStream of the newest server."""
    async with Connection(server.url) as connection:
        yield JetStream(connection)


@pytest.fixture
async def every_jetstream(every_server: NatsServer) -> AsyncIterator[JetStream]:
    """JetStream of a server of each variant."""
    async with Connection(every_server.url) as connection:
        yield JetStream(connection)
