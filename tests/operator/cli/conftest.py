"""What tests of commands share: a server of the test process's own, and a folder of manifests that leads there."""

from functools import partial
from pathlib import Path

import pytest

from tests.operator.cli.commands import Declared, Run, penstock_as
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.server import NatsServer
from tests.testbed.nats.shared import NEWEST, SharedServers


@pytest.fixture
def server(shared_servers: SharedServers) -> NatsServer:
    """The newest server, shared between tests: they name streams after themselves (`fresh_name`)."""
    return shared_servers.get(NEWEST)


@pytest.fixture
def declared(tmp_path: Path, server: NatsServer) -> Declared:
    folder = tmp_path / "manifests"
    folder.mkdir()
    return Declared(folder, server.url)


@pytest.fixture
def run(penstock_namespace: Namespace) -> Run:
    """Run a command with the kubeconfig of the test's namespace."""
    return partial(penstock_as, penstock_namespace.kubeconfig)
