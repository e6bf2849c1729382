"""pytest fixtures: a control plane or a cluster for the whole session, one to break, a namespace for each test.

Tests that need a cluster are in tests/cluster; all others need a control plane alone.
"""

import contextlib
import os
import threading
import uuid
from collections.abc import Iterator
from typing import Any, TypeVar

import pytest

from tests.testbed import run
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.kubernetes.cluster import Cluster, UserCluster, new_namespace
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.kubernetes.node import Node


@pytest.fixture(scope="session")
def control_plane() -> Access:
    """A control plane, one for all parallel test processes. Tests do not break it: others use it."""
    return Access.attach(_shared_control_plane())


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the shared control plane in the background, so that the first test that needs it doesn't wait for it."""
    needed = any("control_plane" in getattr(item, "fixturenames", ()) for item in session.items)
    if needed and not session.config.option.collectonly:
        threading.Thread(target=_start_ahead, name="control-plane", daemon=True).start()


def _start_ahead() -> None:
    with contextlib.suppress(RuntimeError):  # the fixture raises it
        _shared_control_plane()


def _shared_control_plane() -> dict[str, Any]:
    return run.current().shared("control-plane", lambda: _started(ControlPlane()).facts())


T = TypeVar("T", ControlPlane, Node)


def _started(cluster: T) -> T:
    cluster.start()
    return cluster


@pytest.fixture
def own_control_plane() -> Iterator[ControlPlane]:
    """A control plane of the test's own, to be broken."""
    control_plane = _started(ControlPlane())
    yield control_plane
    control_plane.stop()


@pytest.fixture
def namespace(control_plane: Access) -> Namespace:
    """A namespace of the test's own. It stays until the control plane ends, as no controller is there to empty it."""
    return Namespace.create(control_plane, _fresh_name())


@pytest.fixture(scope="session")
def cluster() -> Cluster | UserCluster:
    """A cluster that runs pods, one for all parallel test processes. Tests do not break it: others use it."""
    if "KUBECONFIG" in os.environ:
        return UserCluster.reach()
    return Cluster.attach(run.current().shared("node", lambda: _started(Node()).facts()))


@pytest.fixture
def own_node() -> Iterator[Node]:
    """A node of the test's own, to be broken."""
    node = _started(Node())
    yield node
    node.stop()


@pytest.fixture
def cluster_namespace(cluster: Cluster | UserCluster) -> Iterator[Namespace]:
    """A namespace of the test's own, where pods can run. Its end is asked for and not awaited."""
    namespace = new_namespace(cluster, _fresh_name())
    yield namespace
    cluster.client.begin_deletion(f"namespace/{namespace.name}")


def _fresh_name() -> str:
    return f"test-{uuid.uuid4().hex[:10]}"
