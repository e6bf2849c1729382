"""A control plane with those controllers that make pods of Deployments, and a node that runs them; no container."""

from collections.abc import Iterator

import pytest

from tests.operator.conftest import install_crds
from tests.operator.sharing import SharedOperators
from tests.operator.workforce.running.paper_node import Gate, PaperNode
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
def gate(node: PaperNode) -> Gate:
    """What all batches wait at."""
    gate = Gate()
    node.process = gate.process
    return gate
