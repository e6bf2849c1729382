"""The servers that the client library must agree with: each that is supported, and each way to write ack tokens."""

from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.transport.connection import Connection
from tests.jetstream.raw import Raw, connected
from tests.testbed.binaries import NATS_SERVERS
from tests.testbed.nats.server import NatsServer, Options
from tools.environment import ROOT

set_hypothesis_home_dir(ROOT / ".cache" / "hypothesis")
settings.register_profile(
    "same-everywhere",  # and as fast as the machine happens to be
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("same-everywhere"), derandomize=False, max_examples=20_000)
settings.load_profile("same-everywhere")
"""By hand: `pytest --hypothesis-profile=thorough` takes other examples each time, and many."""

VARIANTS = {
    **{version.rpartition(".")[0]: Options(version=version) for version in NATS_SERVERS},
    "2.15": Options(),
    "2.15-acks-v2": Options(js_ack_fc_v2=True),
}
"""One server of each line that is supported; the newest also with ack tokens of version 2."""


class SharedServers:
    """Starts each variant once per test process. Tests share them: each makes streams and subjects of its own."""

    def __init__(self) -> None:
        self._running: dict[str, NatsServer] = {}

    def get(self, variant: str) -> NatsServer:
        if variant not in self._running:
            server = NatsServer(VARIANTS[variant], name=f"nats-{variant}")
            self._running[variant] = server
            server.start()
        return self._running[variant]

    def close(self) -> None:
        for server in self._running.values():
            server.close()


@pytest.fixture(scope="session")
def shared_servers() -> Iterator[SharedServers]:
    servers = SharedServers()
    yield servers
    servers.close()


@pytest.fixture(params=list(VARIANTS))
def every_server(request: pytest.FixtureRequest, shared_servers: SharedServers) -> NatsServer:
    """A server of each variant in turn, shared between tests: name streams after the test (`fresh_name`)."""
    return shared_servers.get(request.param)


@pytest.fixture(params=["2.15", "2.15-acks-v2"])
def newest_server(request: pytest.FixtureRequest, shared_servers: SharedServers) -> NatsServer:
    """The newest server, with ack tokens of version 1 and of version 2."""
    return shared_servers.get(request.param)


@pytest.fixture
def server(shared_servers: SharedServers) -> NatsServer:
    """The newest server, shared between tests. A test that breaks its server takes one from `start_nats`."""
    return shared_servers.get("2.15")


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


_names = iter(range(1, 1_000_000))


@pytest.fixture
def fresh_name() -> str:
    """A name that no other test of this process has: for a stream, and as the first token of its subjects."""
    return f"t{next(_names)}"
