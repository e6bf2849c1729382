"""Servers go and come back, and others change streams: the operator restores what is declared, and reports it."""

from functools import partial

import pytest

from tests.operator.running import running_operator
from tests.operator.scene import Scene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.fixtures import StartNats

MINUTE = 60 * 10**9
OBJECTS = 1000
MINUTES_SECONDS = 240  # what takes seconds takes minutes on a machine that does other things too


def test_stream_in_memory_is_created_again_after_a_restart_or_a_deletion(scene: Scene) -> None:
    scene.declare_stream(storage="Memory")
    scene.declare_stream("bills")
    scene.declare_consumer()
    scene.declare_consumer("bills", stream="bills")
    scene.wait_ready("consumer/etl", "consumer/bills")
    scene.server.kill()
    scene.server.start()
    scene.ask("STREAM.DELETE.bills")
    for stream, consumer in (("orders", "etl"), ("bills", "bills")):
        scene.wait_event(f"stream/{stream}", "Recreated")
        scene.wait(partial(scene.has_consumer, consumer, stream), f"{consumer} is there again")
        scene.wait_ready(f"stream/{stream}", f"consumer/{consumer}")


def test_unreachable_server_is_reported_and_changes_reach_it_when_it_is_back(scene: Scene) -> None:
    scene.declare_stream()
    scene.wait_ready("stream/orders")
    scene.server.kill()
    scene.wait_condition("connection/nats", "Ready", "False", "Unreachable")
    scene.wait_condition("stream/orders", "Ready", "False", "ConnectionNotReady")
    scene.declare_stream(maxAge="1m")
    scene.server.start()
    scene.wait_ready("connection/nats", "stream/orders")
    assert scene.config()["max_age"] == MINUTE


@pytest.mark.full
def test_consumer_changed_by_others_is_changed_back(scene: Scene) -> None:
    scene.declare_stream()
    scene.declare_consumer(ackWait="30s")
    scene.wait_ready("stream/orders", "consumer/etl")
    config = {**(scene.consumer() or {})["config"], "ack_wait": 5 * MINUTE}
    scene.ask("CONSUMER.CREATE.orders.etl", stream_name="orders", config=config)
    assert "ackWait" in scene.wait_event("consumer/etl", "Drifted")["message"]
    scene.wait_ready("consumer/etl")
    assert (scene.consumer() or {})["config"]["ack_wait"] == MINUTE // 2


@pytest.mark.full
def test_restarted_operator_continues_and_leaves_alone_what_is_in_order(scene: Scene) -> None:
    scene.declare_stream(management={"deletion": "Delete"})
    scene.declare_stream("bills")
    scene.wait_ready("stream/orders", "stream/bills")
    bills, shown = scene.config("bills"), scene.shown("stream/bills")
    scene.operator.program.kill()
    scene.delete("stream/orders", wait=False)
    scene.declare_stream("sales")
    scene.operator.start()
    scene.wait_gone("stream/orders")
    scene.wait_ready("stream/sales")
    assert scene.stream("orders") is None
    assert scene.config("bills") == bills
    assert scene.shown("stream/bills") == shown


@pytest.mark.full
def test_namespace_is_emptied_while_the_server_is_away_if_nothing_is_to_be_deleted_there(scene: Scene) -> None:
    scene.declare_stream()
    scene.declare_consumer()
    scene.wait_ready("stream/orders", "consumer/etl")
    scene.server.kill()
    scene.delete("connection/nats")
    scene.delete("stream/orders")
    scene.delete("consumer/etl")


def test_object_to_be_deleted_on_a_server_that_is_away_waits_until_it_is_abandoned(scene: Scene) -> None:
    scene.declare_stream(management={"deletion": "Delete"})
    scene.wait_ready("stream/orders")
    scene.server.kill()
    scene.delete("connection/nats", wait=False)
    scene.delete("stream/orders", wait=False)
    scene.wait(lambda: "penstock.dev/abandon" in ready_message(scene, "stream/orders"), "it says what lets it go")
    assert scene.exists("connection/nats"), "somebody needs it"
    scene.namespace.client.annotate("stream/orders", {"penstock.dev/abandon": "true"})
    scene.wait_gone("stream/orders")
    scene.wait_gone("connection/nats")


@pytest.mark.full
def test_connection_that_others_need_can_be_abandoned_alone(scene: Scene) -> None:
    scene.declare_stream(management={"deletion": "Delete"})
    scene.wait_ready("stream/orders")
    scene.delete("connection/nats", wait=False)
    said = scene.wait_condition("connection/nats", "Ready", "False", "Deleting")
    assert f"Stream {scene.namespace.name}/orders has something to delete" in said["message"]
    scene.namespace.client.annotate("connection/nats", {"penstock.dev/abandon": "true"})
    scene.wait_gone("connection/nats")
    scene.wait_event("connection/nats", "Abandoned")
    scene.wait_condition("stream/orders", "Ready", "False", "ConnectionNotFound")
    scene.connect()
    scene.wait_ready("stream/orders")
    scene.delete("stream/orders")
    assert scene.stream() is None


def ready_message(scene: Scene, what: str) -> str:
    message: str = scene.conditions(what).get("Ready", {}).get("message", "")
    return message


@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_thousand_objects_are_deleted_by_one_request(penstock_namespace: Namespace, start_nats: StartNats) -> None:
    """The operator reads servers at its usual period: it would do little else than read so many twice a second."""
    with running_operator(penstock_namespace.kubeconfig, "--namespace", penstock_namespace.name) as operator:
        operator.wait_ready()
        scene = Scene(penstock_namespace, start_nats(), operator)
        scene.connect()
        scene.create_streams(OBJECTS, deletion="Delete")
        scene.wait(lambda: streams_there(scene) == OBJECTS, "all are made", MINUTES_SECONDS)
        scene.namespace.client.begin_deletion_of_all("streams")
        scene.wait(lambda: streams_there(scene) == 0, "all are gone from the server", MINUTES_SECONDS)
        scene.wait(lambda: not scene.namespace.client.list("streams"), "all are gone")


def streams_there(scene: Scene) -> int:
    number: int = scene.server.monitored("jsz")["streams"]
    return number
