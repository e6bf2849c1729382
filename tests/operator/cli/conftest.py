"""Fixtures for tests of commands: a NATS server, a folder of manifests, and commands against a cluster."""

from functools import partial
from pathlib import Path

import pytest

from tests.operator.cli.commands import Declared, Run, penstock
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.server import NatsServer
from tests.testbed.nats.shared import NEWEST, SharedServers


@pytest.fixture
def server(shared_servers: SharedServers) -> NatsServer:
    """The newest server, shared between tests, which name their streams with `fresh_name`."""
    return shared_servers.get(NEWEST)


@pytest.fixture
def declared(tmp_path: Path, server: NatsServer) -> Declared:
    folder = tmp_path / "manifests"
    folder.mkdir()
    return Declared(folder, server.url)


@pytest.fixture
def run(penstock_namespace: Namespace) -> Run:
    """Run a command with the kubeconfig of the test's namespace."""
    return partial(penstock, kubeconfig=penstock_namespace.kubeconfig)
