"""pytest's side of NATS: servers, clusters, leaves and relays that live for one test."""

# ruff: noqa: ANN401 - options are passed on to server.Options, which has their types

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Protocol, TypeVar

import pytest

from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.leaf import HubAndLeaf
from tests.testbed.nats.relay import Relay
from tests.testbed.nats.server import NatsServer, Options


class StartNats(Protocol):
    def __call__(self, **options: Any) -> NatsServer: ...


class StartNatsCluster(Protocol):
    def __call__(self, size: int = 3, **options: Any) -> NatsCluster: ...


StartRelay = Callable[[int], Relay]


class StartNatsLeaf(Protocol):
    def __call__(self, **options: Any) -> HubAndLeaf: ...


T = TypeVar("T", NatsServer, NatsCluster, HubAndLeaf)


def _starter(make: Callable[..., T]) -> Iterator[Callable[..., T]]:
    """Yield what starts such servers, and close them afterwards."""
    with ExitStack() as ends:

        def start(*size: int, **options: Any) -> T:
            made = make(Options(**options), *size)
            ends.callback(made.close)
            made.start()
            return made

        yield start


@pytest.fixture
def start_nats() -> Iterator[StartNats]:
    """Start servers; the options are those of server.Options."""
    yield from _starter(NatsServer)


@pytest.fixture
def nats_server(start_nats: StartNats) -> NatsServer:
    """A server with nothing special to it."""
    return start_nats()


@pytest.fixture
def start_nats_cluster() -> Iterator[StartNatsCluster]:
    yield from _starter(lambda options, size=3: NatsCluster(size, options))


@pytest.fixture
def nats_cluster(start_nats_cluster: StartNatsCluster) -> NatsCluster:
    """Three nodes. It takes some seconds to form: a test that needs no replicas takes nats_server."""
    return start_nats_cluster()


@pytest.fixture
def start_nats_leaf() -> Iterator[StartNatsLeaf]:
    yield from _starter(HubAndLeaf)


@pytest.fixture
def start_relay() -> Iterator[StartRelay]:
    """Put relays before ports, such as `start_relay(nats_server.port)`."""
    with ExitStack() as ends:
        yield lambda target_port: ends.enter_context(Relay(target_port))
