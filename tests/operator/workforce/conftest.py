"""A scene for each test, with the prerequisites of a queue group that is still to be declared."""

import pytest

from tests.operator.workforce.grouping import GroupScene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.server import NatsServer


@pytest.fixture
def scene(served_namespace: Namespace, nats_server: NatsServer) -> GroupScene:
    scene = GroupScene(served_namespace, nats_server)
    scene.create_prerequisites()
    return scene
