"""A scene for each test, with a stream, a consumer, and the code of a queue group that is still to be declared."""

from collections.abc import Iterator

import pytest

from tests.operator.running import RunningOperator, running_operator
from tests.operator.workforce.grouping import GroupScene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.server import NatsServer

PERIOD_SECONDS = 0.5
IMAGE = "example/worker:1"


@pytest.fixture
def operator(penstock_namespace: Namespace) -> Iterator[RunningOperator]:
    """An operator that serves the test's namespace."""
    options = ("--namespace", penstock_namespace.name, "--period", str(PERIOD_SECONDS), "--worker-image", IMAGE)
    with running_operator(penstock_namespace.kubeconfig, *options) as operator:
        operator.wait_ready()
        yield operator


@pytest.fixture
def scene(penstock_namespace: Namespace, nats_server: NatsServer, operator: RunningOperator) -> GroupScene:
    """All is well: a server, a Connection, a stream with its consumer, and a ConfigMap with code."""
    scene = GroupScene(penstock_namespace, nats_server, operator)
    scene.connect()
    scene.declare_stream()
    scene.declare_consumer()
    scene.code("etl-code", "def process(df, batch): ...")
    scene.wait_ready("consumer/etl")
    return scene
