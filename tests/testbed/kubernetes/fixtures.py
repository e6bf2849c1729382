"""pytest fixtures: a control plane for the whole session, one to break, a namespace for each test."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.testbed import run
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.kubernetes.control_plane import ControlPlane


@pytest.fixture(scope="session")
def control_plane() -> Access:
    """A control plane, one for all parallel test processes. Tests do not break it: others use it."""
    return Access.attach(run.current().shared("control-plane", _start_control_plane))


def _start_control_plane() -> dict[str, Any]:
    control_plane = ControlPlane()
    control_plane.start()
    return control_plane.facts()


@pytest.fixture
def own_control_plane() -> Iterator[ControlPlane]:
    """A control plane of the test's own, to be broken."""
    control_plane = ControlPlane()
    control_plane.start()
    yield control_plane
    control_plane.stop()


@pytest.fixture
def namespace(control_plane: Access) -> Namespace:
    """A namespace of the test's own. It stays until the control plane ends, as no controller is there to empty it."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}}
    control_plane.kubectl("create", "namespace", name)
    control_plane.kubectl("create", "--filename=-", stdin=json.dumps(account))  # as the missing controller would
    return Namespace(control_plane, name)
