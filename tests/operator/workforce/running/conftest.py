"""A control plane with those controllers that make pods of Deployments, and a node that runs them; no container."""

import threading
from collections.abc import Iterator

import pytest

from penstock_worker.policy.outcome import Outcome, Verdict
from tests.operator.conftest import install_crds
from tests.operator.running import SharedOperators
from tests.operator.workforce.running.paper_node import PATIENCE_SECONDS, PaperNode
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.control_plane import ControlPlane

CONTROLLERS = ("deployment-controller", "replicaset-controller", "garbage-collector-controller")


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    plane = ControlPlane()
    plane.start()
    install_crds(plane)
    plane.start_controllers(*CONTROLLERS)
    yield plane
    plane.stop()


@pytest.fixture(scope="module")
def operators(plane: ControlPlane) -> Iterator[SharedOperators]:
    """Operators for this control plane, in place of those for one without controllers."""
    operators = SharedOperators(plane)
    yield operators
    operators.close()


@pytest.fixture
def node(served_namespace: Namespace) -> Iterator[PaperNode]:
    with PaperNode(served_namespace) as node:
        yield node


@pytest.fixture
def released(node: PaperNode) -> threading.Event:
    """Batches that begin while it is cleared run until it is set."""
    released = threading.Event()
    released.set()

    def process(*_: object) -> Outcome:
        released.wait(PATIENCE_SECONDS)
        return Outcome(Verdict.OK, 0.1)

    node.process = process
    return released
