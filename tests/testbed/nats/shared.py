"""Servers that tests share: one of each line that is supported, started once per test process.

Tests that take them make streams and subjects of their own (`fresh_name`); one that breaks its server takes another
from `start_nats`.
"""

from collections.abc import Iterator

import pytest

from tests.testbed.binaries import NATS_SERVERS
from tests.testbed.nats.server import NatsServer, Options

NEWEST = "2.15"
VARIANTS = {
    **{version.rpartition(".")[0]: Options(version=version) for version in NATS_SERVERS},
    NEWEST: Options(),
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


OLDER = [variant for variant in VARIANTS if variant != NEWEST]
NEWEST_VARIANTS = [NEWEST, pytest.param(f"{NEWEST}-acks-v2", marks=pytest.mark.full)]
EVERY_VARIANT = [NEWEST, *(pytest.param(variant, marks=pytest.mark.full) for variant in OLDER)]


@pytest.fixture(params=EVERY_VARIANT)
def every_server(request: pytest.FixtureRequest, shared_servers: SharedServers) -> NatsServer:
    """A server of each variant in turn, shared between tests: name streams after the test (`fresh_name`)."""
    return shared_servers.get(request.param)


_names = iter(range(1, 1_000_000))


@pytest.fixture
def fresh_name() -> str:
    """A name that no other test of this process has: for a stream, and as the first token of its subjects."""
    return f"t{next(_names)}"
