"""A QueueGroup beside what it depends on; what is made for it stands in tests/operator/workforce."""

from tests.operator.scene import Scene

SPEC = {"consumerRef": {"name": "etl"}, "handler": {"entrypoint": "etl:process", "image": "example/etl"}}


def test_it_waits_for_its_consumer_and_says_so_in_its_status_and_in_an_event(scene: Scene) -> None:
    scene.apply("QueueGroup", "etl", SPEC)
    said = scene.wait_condition("queuegroup/etl", "Ready", "False", "ConsumerNotFound")
    assert "There is no Consumer" in said["message"]
    scene.wait_event("queuegroup/etl", "ConsumerNotFound")


def test_a_push_consumer_is_not_for_queue_groups(scene: Scene) -> None:
    scene.declare_stream()
    scene.declare_consumer(deliverSubject="here")
    scene.wait_ready("consumer/etl")
    scene.apply("QueueGroup", "etl", SPEC)
    said = scene.wait_condition("queuegroup/etl", "Ready", "False", "Invalid")
    assert "is a push consumer, and queue groups pull" in said["message"]


def test_its_consumer_says_so_if_it_is_too_narrow_for_the_workers(scene: Scene) -> None:
    scene.declare_stream()
    scene.declare_consumer(maxAckPending=10)
    scene.wait_ready("consumer/etl")
    scene.apply("QueueGroup", "etl", SPEC)
    said = scene.wait_condition("consumer/etl", "Warning", "True")
    assert "QueueGroup" in said["message"]
    assert "maxAckPending: 10 messages may be under way" in said["message"]


def test_it_goes_when_it_is_deleted(scene: Scene) -> None:
    scene.apply("QueueGroup", "etl", SPEC)
    scene.wait_condition("queuegroup/etl", "Ready", "False", "ConsumerNotFound")
    scene.delete("queuegroup/etl")
    assert not scene.exists("queuegroup/etl")
