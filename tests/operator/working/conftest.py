"""A scene for each test: a namespace, a NATS server, and a shared operator that serves the namespace."""

import pytest

from tests.operator.running import RunningOperator
from tests.operator.scene import Scene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.fixtures import StartNats


@pytest.fixture
def scene(served_namespace: Namespace, start_nats: StartNats, operator: RunningOperator) -> Scene:
    """All is well: there is a server, and a Connection leads there."""
    scene = Scene(served_namespace, start_nats(), operator)
    scene.connect()
    return scene
