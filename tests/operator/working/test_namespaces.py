"""A Connection serves the namespaces that it allows, and no others; when it allows more, they are served at once."""

from collections.abc import Iterator

import pytest

from penstock_operator.constants import API_VERSION
from tests.operator.running import running_operator
from tests.operator.scene import Scene
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.nats.fixtures import StartNats


@pytest.fixture
def other(penstock_plane: Access, penstock_namespace: Namespace) -> Namespace:
    return Namespace.create(penstock_plane, f"{penstock_namespace.name}-other")


@pytest.fixture
def scene(penstock_namespace: Namespace, other: Namespace, start_nats: StartNats) -> Iterator[Scene]:
    """An operator serves two namespaces; what tests declare is in the other one."""
    options = ("--namespace", penstock_namespace.name, "--namespace", other.name, "--period", "0.5")
    with running_operator(penstock_namespace.kubeconfig, *options) as operator:
        operator.wait_ready()
        yield Scene(other, start_nats(), operator)


def allow(scene: Scene, home: Namespace, **allowed: object) -> None:
    """Declare the Connection at home."""
    spec = {"servers": [scene.server.url], "allowedNamespaces": allowed}
    manifest = {"apiVersion": API_VERSION, "kind": "Connection", "metadata": {"name": "nats"}, "spec": spec}
    home.client.apply(manifest)


def test_only_its_own_namespace_is_served_until_it_allows_all(scene: Scene, penstock_namespace: Namespace) -> None:
    allow(scene, penstock_namespace, **{"from": "Same"})
    scene.declare_stream(connectionRef={"name": "nats", "namespace": penstock_namespace.name})
    scene.wait_condition("stream/orders", "Ready", "False", "ConnectionNotAllowed")
    assert scene.stream() is None
    allow(scene, penstock_namespace, **{"from": "All"})
    scene.wait_ready("stream/orders")


def test_a_selector_follows_the_labels_of_namespaces(
    scene: Scene, penstock_namespace: Namespace, penstock_plane: Access
) -> None:
    allow(scene, penstock_namespace, **{"from": "Selector", "selector": {"matchLabels": {"team": "sales"}}})
    scene.declare_stream(connectionRef={"name": "nats", "namespace": penstock_namespace.name})
    scene.wait_condition("stream/orders", "Ready", "False", "ConnectionNotAllowed")
    penstock_plane.client.label(f"namespace/{scene.namespace.name}", {"team": "sales"})
    scene.wait_ready("stream/orders")
    penstock_plane.client.label(f"namespace/{scene.namespace.name}", {"team": None})
    scene.wait_condition("stream/orders", "Ready", "False", "ConnectionNotAllowed")
    assert scene.stream()
