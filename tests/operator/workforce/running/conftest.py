"""A control plane with those controllers that make pods of Deployments, and a node that runs them; no container."""

import uuid
from collections.abc import Iterator

import pytest

from tests.operator.conftest import install_crds
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


@pytest.fixture
def penstock_namespace(plane: ControlPlane) -> Namespace:
    """A namespace of the test's own, in place of that of a control plane without controllers."""
    return Namespace.create(plane, f"shop-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def node(penstock_namespace: Namespace) -> Iterator[PaperNode]:
    with PaperNode(penstock_namespace) as node:
        yield node


@pytest.fixture
def gate(node: PaperNode) -> Gate:
    """What all batches wait at."""
    gate = Gate()
    node.process = gate.process
    return gate
