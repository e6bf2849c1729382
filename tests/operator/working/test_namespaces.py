"""A Connection serves the namespaces that it allows, and no others; what it allows later takes effect at once."""

from collections.abc import Iterator

import pytest

from tests.operator.scene import Scene
from tests.operator.sharing import SharedOperators, clear
from tests.testbed.kubernetes.access import Access
from tests.testbed.nats.fixtures import StartNats


@pytest.fixture
def scenes(operators: SharedOperators, start_nats: StartNats) -> Iterator[tuple[Scene, Scene]]:
    """Two namespaces of one operator: one for the Connection, the other for the Stream."""
    server = start_nats()
    operator, namespaces = operators.take(2)
    home, other = (Scene(namespace, server, operator) for namespace in namespaces)
    yield home, other
    for namespace in namespaces:
        clear(namespace)


def test_connection_serves_only_its_own_namespace_until_it_allows_all(scenes: tuple[Scene, Scene]) -> None:
    home, other = scenes
    home.connect(allowedNamespaces={"from": "Same"})
    other.declare_stream(connectionRef={"name": "nats", "namespace": home.namespace.name})
    other.wait_condition("stream/orders", "Ready", "False", "ConnectionNotAllowed")
    assert other.stream() is None
    home.connect(allowedNamespaces={"from": "All"})
    other.wait_ready("stream/orders")


@pytest.mark.full
def test_selector_follows_the_labels_of_namespaces(scenes: tuple[Scene, Scene], penstock_plane: Access) -> None:
    home, other = scenes
    home.connect(allowedNamespaces={"from": "Selector", "selector": {"matchLabels": {"team": "sales"}}})
    other.declare_stream(connectionRef={"name": "nats", "namespace": home.namespace.name})
    other.wait_condition("stream/orders", "Ready", "False", "ConnectionNotAllowed")
    penstock_plane.client.label(f"namespace/{other.namespace.name}", {"team": "sales"})
    other.wait_ready("stream/orders")
    penstock_plane.client.label(f"namespace/{other.namespace.name}", {"team": None})
    other.wait_condition("stream/orders", "Ready", "False", "ConnectionNotAllowed")
    assert other.stream()
