"""A scene for each test: a namespace, a NATS server, and an operator that serves the one."""

from collections.abc import Iterator

import pytest

from tests.operator.running import RunningOperator, running_operator
from tests.operator.scene import Scene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.fixtures import StartNats

PERIOD_SECONDS = 0.5  # what takes a period is not what these tests are about; it is as short as is fair to the machine


@pytest.fixture
def operator(penstock_namespace: Namespace) -> Iterator[RunningOperator]:
    """An operator that serves the test's namespace."""
    options = ("--namespace", penstock_namespace.name, "--period", str(PERIOD_SECONDS))
    with running_operator(penstock_namespace.kubeconfig, *options) as operator:
        operator.wait_ready()
        yield operator


@pytest.fixture
def scene(penstock_namespace: Namespace, start_nats: StartNats, operator: RunningOperator) -> Scene:
    """All is well: there is a server, and a Connection leads there."""
    scene = Scene(penstock_namespace, start_nats(), operator)
    scene.connect()
    return scene
