"""What is declared before the things that it needs waits for them, says so, and goes on at once when they come."""

from tests.operator.scene import Scene


def test_a_stream_waits_for_its_connection(scene: Scene) -> None:
    scene.declare_stream(connectionRef={"name": "later"})
    said = scene.wait_condition("stream/orders", "Ready", "False", "ConnectionNotFound")
    assert "later" in said["message"]
    scene.connect("later")
    scene.wait_ready("stream/orders")


def test_a_consumer_waits_for_its_stream_and_both_are_made(scene: Scene) -> None:
    scene.declare_consumer()
    scene.wait_condition("consumer/etl", "Ready", "False", "StreamNotFound")
    scene.declare_stream()
    scene.wait_ready("stream/orders", "consumer/etl")
    assert scene.consumer()


def test_a_consumer_of_a_stream_that_nobody_declares_names_its_connection(scene: Scene) -> None:
    scene.ask("STREAM.CREATE.bills", name="bills", subjects=["bills"])
    scene.apply("Consumer", "etl", {"connectionRef": {"name": "nats"}, "stream": "bills"})
    scene.wait_ready("consumer/etl")
    assert scene.consumer(stream="bills")


def test_a_connection_that_leads_elsewhere_now_takes_its_streams_along(scene: Scene) -> None:
    scene.declare_stream()
    scene.wait_ready("stream/orders")
    scene.apply("Connection", "nats", {"servers": ["nats://127.0.0.1:1"]})
    scene.wait_condition("connection/nats", "Ready", "False", "Unreachable")
    scene.wait_condition("stream/orders", "Ready", "False", "ConnectionNotReady")
    scene.connect()
    scene.wait_ready("connection/nats", "stream/orders")
