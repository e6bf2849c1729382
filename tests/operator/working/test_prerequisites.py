"""An object without its prerequisites waits for them, reports what is missing, and continues when they exist."""

import json
from collections.abc import Iterator

import pytest

from tests.operator.running import RunningOperator, SharedOperators, clear
from tests.operator.scene import BY_PASSWORD, Scene
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.nats.authentication import user_and_password
from tests.testbed.nats.fixtures import StartNats

GROUP = {"consumerRef": {"name": "etl"}, "handler": {"entrypoint": "etl:process", "image": "example/etl"}}


def test_stream_waits_for_its_connection_and_follows_it(scene: Scene) -> None:
    scene.declare_stream(connectionRef={"name": "later"})
    said = scene.wait_condition("stream/orders", "Ready", "False", "ConnectionNotFound")
    assert "later" in said["message"]
    scene.connect("later")
    scene.wait_ready("stream/orders")
    scene.apply("Connection", "later", {"servers": ["nats://127.0.0.1:1"]})
    scene.wait_condition("connection/later", "Ready", "False", "Unreachable")
    scene.wait_condition("stream/orders", "Ready", "False", "ConnectionNotReady")
    scene.connect("later")
    scene.wait_ready("connection/later", "stream/orders")


def test_consumer_waits_for_its_stream_unless_it_names_a_connection(scene: Scene) -> None:
    scene.declare_consumer()
    scene.wait_condition("consumer/etl", "Ready", "False", "StreamNotFound")
    scene.declare_stream()
    scene.wait_ready("stream/orders", "consumer/etl")
    assert scene.consumer()
    scene.ask("STREAM.CREATE.bills", name="bills", subjects=["bills"])
    scene.apply("Consumer", "bills", {"connectionRef": {"name": "nats"}, "stream": "bills"})
    scene.wait_ready("consumer/bills")
    assert scene.consumer("bills", stream="bills")


def test_consumer_warns_if_it_allows_too_few_messages_in_flight_for_the_workers(scene: Scene) -> None:
    scene.declare_stream()
    scene.declare_consumer(maxAckPending=10)
    scene.wait_ready("consumer/etl")
    scene.apply("QueueGroup", "etl", GROUP)
    said = scene.wait_condition("consumer/etl", "Warning", "True")
    assert "QueueGroup" in said["message"]
    assert "maxAckPending: 10 messages may be under way" in said["message"]


@pytest.fixture
def scenes(operators: SharedOperators, start_nats: StartNats) -> Iterator[tuple[Scene, Scene]]:
    """Two namespaces of one operator: one for the Connection, the other for the Stream."""
    server = start_nats()
    _, namespaces = operators.take(2)
    home, other = (Scene(namespace, server) for namespace in namespaces)
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


@pytest.fixture
def secured(served_namespace: Namespace, start_nats: StartNats) -> Scene:
    """A server that needs a password, a Connection whose Secret is missing, and a Stream."""
    scene = Scene(served_namespace, start_nats(access=user_and_password()))
    scene.connect(auth=BY_PASSWORD)
    scene.declare_stream()
    return scene


def test_connection_follows_its_secret_which_is_shown_nowhere(secured: Scene, operator: RunningOperator) -> None:
    secured.wait_condition("connection/nats", "Ready", "False", "SecretNotFound")
    secured.wait_condition("stream/orders", "Ready", "False", "ConnectionNotReady")
    secured.secret("login", username="ann", password="hunter2-hunter2")
    said = secured.wait_condition("connection/nats", "Ready", "False", "Unauthorized")
    assert "hunter2" not in said["message"]
    secured.create_login()
    secured.wait_ready("connection/nats", "stream/orders")
    assert secured.stream()
    shown = json.dumps(secured.namespace.client.list("connections", "streams", "events"))
    for secret in ("hunter2-hunter2", secured.server.access.client.arguments["password"]):
        assert secret not in shown
        assert secret not in operator.program.log.read_text()


@pytest.mark.full
def test_without_its_secret_a_connection_only_deletes_what_is_to_be_deleted(secured: Scene) -> None:
    """The controller that empties a namespace may delete its Secrets first, and the rest much later."""
    secured.create_login()
    secured.declare_stream("drafts", management={"deletion": "Delete"})
    secured.wait_ready("connection/nats", "stream/orders", "stream/drafts")
    secured.delete("secret/login")
    secured.wait_condition("connection/nats", "Ready", "False", "SecretNotFound")
    secured.namespace.client.annotate("connection/nats", {"looked-at": "again"})
    secured.declare_stream("late")
    secured.wait_condition("stream/late", "Ready", "False", "ConnectionNotReady")
    secured.delete("connection/nats", wait=False)
    secured.delete("stream/drafts")
    secured.wait_gone("connection/nats")
    assert secured.streams() == ["orders"]
