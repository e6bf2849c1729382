"""A scene for each test, with a stream, a consumer, and the code of a queue group that is still to be declared."""

import pytest

from tests.operator.running import RunningOperator
from tests.operator.workforce.grouping import GroupScene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.server import NatsServer


@pytest.fixture
def scene(served_namespace: Namespace, nats_server: NatsServer, operator: RunningOperator) -> GroupScene:
    """All is well: a server, a Connection, a stream with its consumer, and a ConfigMap with code."""
    scene = GroupScene(served_namespace, nats_server, operator)
    scene.connect()
    scene.declare_stream()
    scene.declare_consumer()
    scene.code("etl-code", "def process(df, batch): ...")
    scene.wait_ready("consumer/etl")
    return scene
