"""An object whose references change moves, and what it leaves on the former server is neither lost nor forgotten."""

import pytest

from tests.operator.scene import Scene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.fixtures import StartNats

AT_HUB = {"name": "hub"}
DELETE = {"deletion": "Delete"}
ALLOW = {"penstock.dev/recreate-generation": "2"}


@pytest.fixture
def hub(served_namespace: Namespace, start_nats: StartNats, scene: Scene) -> Scene:
    """Another server with a Connection. The stream on the first server has a message."""
    hub = Scene(served_namespace, start_nats())
    hub.connect("hub")
    hub.wait_ready("connection/hub")
    scene.ask("STREAM.CREATE.orders", name="orders", subjects=["orders.>"])
    scene.publish("orders.1", b"one")
    return hub


def messages(scene: Scene) -> int | None:
    """Return how many messages the stream has; None if there is no stream."""
    held = scene.stream()
    return int(held["state"]["messages"]) if held else None


def test_retained_stream_stays_behind_with_its_messages_and_a_warning(scene: Scene, hub: Scene) -> None:
    scene.declare_stream_and_wait()
    scene.declare_stream_and_wait(connectionRef=AT_HUB)
    said = scene.wait_event("stream/orders", "Moved")
    assert said["type"] == "Warning"
    assert f"Until now it was the stream orders over Connection {scene.namespace.name}/nats" in said["message"]
    assert "The former stays there" in said["message"]
    assert (messages(scene), messages(hub)) == (1, 0)
    assert hub.shown("stream/orders")["status"]["connection"].endswith("/hub")


def test_stream_to_be_deleted_moves_once_its_loss_is_allowed(scene: Scene, hub: Scene) -> None:
    scene.declare_stream(management=DELETE)
    scene.declare_consumer(management=DELETE)
    scene.wait_ready("stream/orders", "consumer/etl")
    scene.declare_stream(management=DELETE, connectionRef=AT_HUB)
    said = scene.wait_condition("stream/orders", "Ready", "False", "Moved")
    assert "loses 1 messages" in said["message"]
    scene.wait_condition("consumer/etl", "Ready", "False", "StreamNotReady")
    assert (messages(scene), hub.stream()) == (1, None)
    scene.namespace.client.annotate("stream/orders", ALLOW)
    hub.wait_ready("stream/orders", "consumer/etl")
    assert scene.stream() is None
    assert hub.consumer()
    scene.delete("connection/nats")


@pytest.mark.full
def test_refused_move_can_be_reverted_and_deletion_concerns_the_former_stream(scene: Scene, hub: Scene) -> None:
    scene.declare_stream_and_wait(management=DELETE)
    scene.declare_stream(management=DELETE, connectionRef=AT_HUB)
    scene.wait_condition("stream/orders", "Ready", "False", "Moved")
    scene.declare_stream_and_wait(management=DELETE)
    assert (messages(scene), hub.stream()) == (1, None)

    hub.ask("STREAM.CREATE.orders", name="orders", subjects=["orders.>"])
    scene.declare_stream(management=DELETE, connectionRef=AT_HUB)
    scene.wait_condition("stream/orders", "Ready", "False", "Moved")
    scene.delete("connection/nats", wait=False)
    scene.wait_condition("connection/nats", "Ready", "False", "Deleting")
    scene.delete("stream/orders")
    assert scene.stream() is None
    assert hub.stream()
    scene.wait_gone("connection/nats")


@pytest.mark.full
def test_consumer_that_moves_to_another_stream_leaves_the_former_one(scene: Scene) -> None:
    scene.declare_stream()
    scene.declare_stream("bills")
    scene.declare_consumer("stays")
    scene.declare_consumer("goes", management=DELETE)
    scene.wait_ready("consumer/stays", "consumer/goes")
    scene.declare_consumer("stays", stream="bills")
    scene.declare_consumer("goes", stream="bills", management=DELETE)
    scene.wait_ready("consumer/stays")
    scene.wait_event("consumer/stays", "Moved")
    said = scene.wait_condition("consumer/goes", "Ready", "False", "Moved")
    assert "loses its position" in said["message"]
    assert scene.consumer("stays")
    assert scene.consumer("goes")
    scene.namespace.client.annotate("consumer/goes", ALLOW)
    scene.wait_ready("consumer/goes")
    assert scene.consumer("goes") is None
    assert scene.consumer("goes", stream="bills")
    assert scene.consumer("stays", stream="bills")


@pytest.mark.full
def test_consumer_is_deleted_from_its_former_stream_if_the_declaration_names_another_now(scene: Scene) -> None:
    for name in ("orders", "bills"):
        scene.ask(f"STREAM.CREATE.{name}", name=name, subjects=[f"{name}.>"])
    scene.ask("CONSUMER.DURABLE.CREATE.bills.etl", stream_name="bills", config={"durable_name": "etl"})
    scene.declare_stream("books", name="orders", subjects=["orders.>"])
    scene.declare_consumer(stream="books", management=DELETE)
    scene.wait_ready("consumer/etl")
    scene.delete("stream/books")
    scene.declare_stream("books", name="bills", subjects=["bills.>"])
    scene.delete("consumer/etl")
    assert scene.consumer(stream="orders") is None
    assert scene.consumer(stream="bills")
