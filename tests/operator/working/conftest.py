"""A scene for each test: a namespace that a shared operator serves, and a NATS server."""

import pytest

from tests.operator.scene import Scene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.fixtures import StartNats


@pytest.fixture
def scene(served_namespace: Namespace, start_nats: StartNats) -> Scene:
    scene = Scene(served_namespace, start_nats())
    scene.connect()
    return scene
