"""An object whose prerequisites are missing waits for them, reports what is missing, and continues when they come."""

from tests.operator.scene import Scene

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


def test_queue_group_waits_for_its_consumer_and_can_be_deleted_meantime(scene: Scene) -> None:
    scene.apply("QueueGroup", "etl", GROUP)
    said = scene.wait_condition("queuegroup/etl", "Ready", "False", "ConsumerNotFound")
    assert "There is no Consumer" in said["message"]
    scene.wait_event("queuegroup/etl", "ConsumerNotFound")
    scene.delete("queuegroup/etl")
    assert not scene.exists("queuegroup/etl")


def test_push_consumer_is_not_for_queue_groups(scene: Scene) -> None:
    scene.declare_stream()
    scene.declare_consumer(deliverSubject="here")
    scene.wait_ready("consumer/etl")
    scene.apply("QueueGroup", "etl", GROUP)
    said = scene.wait_condition("queuegroup/etl", "Ready", "False", "Invalid")
    assert "is a push consumer, and queue groups pull" in said["message"]


def test_consumer_warns_if_it_allows_too_few_messages_in_flight_for_the_workers(scene: Scene) -> None:
    scene.declare_stream()
    scene.declare_consumer(maxAckPending=10)
    scene.wait_ready("consumer/etl")
    scene.apply("QueueGroup", "etl", GROUP)
    said = scene.wait_condition("consumer/etl", "Warning", "True")
    assert "QueueGroup" in said["message"]
    assert "maxAckPending: 10 messages may be under way" in said["message"]
