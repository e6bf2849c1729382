"""Servers are killed and elect leaders, and others change streams: the operator restores what is declared."""

from functools import partial

import pytest

from tests.operator.running import RunningOperator, running_operator
from tests.operator.scene import Object, Scene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.administration import UNANSWERED, RefusedError, request
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.waiting import eventually

MINUTE = 60 * 10**9
OBJECTS = 1000
OBJECTS_SECONDS = 600  # what takes seconds takes minutes on a machine that does other things too
WORK_SECONDS = 120
MANY = 100
CHANGES = 8
DELETE = {"deletion": "Delete"}


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
        scene.wait(partial(scene.consumer, consumer, stream), f"{consumer} is there again")
        scene.wait_ready(f"stream/{stream}", f"consumer/{consumer}")
        scene.publish(f"{stream}.1", b"one")


def test_unreachable_server_is_reported_and_changes_reach_it_when_it_is_back(scene: Scene) -> None:
    scene.declare_stream_and_wait()
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
def test_restarted_operator_continues_and_changes_nothing_in_sync(scene: Scene, operator: RunningOperator) -> None:
    scene.declare_stream(management=DELETE)
    scene.declare_stream("bills")
    scene.wait_ready("stream/orders", "stream/bills")
    bills, shown = scene.config("bills"), scene.shown("stream/bills")
    operator.program.kill()
    scene.delete("stream/orders", wait=False)
    scene.declare_stream("sales")
    operator.start()
    scene.wait_gone("stream/orders")
    scene.wait_ready("stream/sales")
    assert scene.stream("orders") is None
    assert scene.config("bills") == bills
    assert scene.shown("stream/bills") == shown


@pytest.mark.full
def test_connection_that_others_need_can_be_abandoned_alone(scene: Scene) -> None:
    scene.declare_stream_and_wait(management=DELETE)
    scene.delete("connection/nats", wait=False)
    said = scene.wait_condition("connection/nats", "Ready", "False", "Deleting")
    assert f"Stream {scene.namespace.name}/orders has something to delete" in said["message"]
    scene.abandon("connection/nats")
    scene.wait_gone("connection/nats")
    scene.wait_event("connection/nats", "Abandoned")
    scene.wait_condition("stream/orders", "Ready", "False", "ConnectionNotFound")
    scene.connect()
    scene.wait_ready("stream/orders")
    scene.delete("stream/orders")
    assert scene.stream() is None


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_a_thousand_objects_are_deleted_by_one_request(penstock_namespace: Namespace, start_nats: StartNats) -> None:
    """The operator reads servers at its usual period: it would do little else than read so many twice a second."""
    with running_operator(penstock_namespace.kubeconfig, "--namespace", penstock_namespace.name) as operator:
        operator.wait_ready()
        scene = Scene(penstock_namespace, start_nats())
        scene.connect()
        scene.create_streams(OBJECTS, deletion="Delete")
        scene.wait(lambda: stream_count(scene) == OBJECTS, "all are created", OBJECTS_SECONDS)
        scene.namespace.client.begin_deletion_of_all("streams")
        scene.wait(lambda: stream_count(scene) == 0, "all are gone from the server", OBJECTS_SECONDS)
        scene.wait(lambda: not scene.namespace.client.list("streams"), "all are gone")


def stream_count(scene: Scene) -> int:
    return int(scene.server.monitored("jsz")["streams"])


@pytest.mark.full
@pytest.mark.timeout(600)
def test_server_killed_at_work_has_everything_in_the_end(scene: Scene) -> None:
    scene.declare_stream_and_wait()
    scene.publish("orders.1", b"one")
    scene.create_streams(MANY, **DELETE)
    scene.wait(lambda: len(scene.streams()) > 1, "the work has begun", WORK_SECONDS)
    scene.server.kill()
    scene.wait_condition("connection/nats", "Ready", "False", "Unreachable", seconds=WORK_SECONDS)
    scene.server.start()
    scene.wait(lambda: scene.ready("streams") == MANY + 1, "all are ready", WORK_SECONDS)
    assert len(scene.streams()) == MANY + 1
    held = scene.stream()
    assert held
    assert held["state"]["messages"] == 1
    scene.namespace.client.begin_deletion_of_all("streams")
    scene.wait(lambda: len(scene.streams()) < MANY, "the end has begun", WORK_SECONDS)
    scene.server.kill()
    scene.server.start()
    scene.wait(lambda: not scene.shown("streams")["items"], "all are gone", WORK_SECONDS)
    assert scene.streams() == ["orders"]


@pytest.mark.full
@pytest.mark.timeout(600)
def test_changes_are_made_while_a_cluster_elects_leaders(
    served_namespace: Namespace, nats_cluster: NatsCluster
) -> None:
    scene = Scene(served_namespace, nats_cluster.nodes[0])
    scene.apply("Connection", "nats", {"servers": nats_cluster.urls})
    scene.declare_stream(replicas=3, management=DELETE)
    scene.declare_consumer(management=DELETE)
    scene.wait_ready("stream/orders", "consumer/etl", seconds=WORK_SECONDS)
    for number in range(1, CHANGES + 1):
        scene.declare_stream(replicas=3, management=DELETE, description=str(number))
        scene.declare_consumer(management=DELETE, description=str(number))
        if number % 2:
            nats_cluster.step_down_stream("orders")
        else:
            nats_cluster.step_down_meta()
    scene.wait_ready("stream/orders", "consumer/etl", seconds=WORK_SECONDS)
    for subject in ("STREAM.INFO.orders", "CONSUMER.INFO.orders.etl"):
        assert settled(scene, subject)["config"]["description"] == str(CHANGES)
    scene.delete("stream/orders", wait=False)
    nats_cluster.step_down_meta()
    scene.wait_gone("stream/orders", WORK_SECONDS)
    scene.delete("consumer/etl")
    scene.wait(lambda: settled(scene, "STREAM.NAMES")["streams"] is None, "no stream is left", WORK_SECONDS)


def settled(scene: Scene, subject: str) -> Object:
    """Return what a cluster answers, once it does: what is asked while it elects a leader is lost, or refused."""
    arguments = scene.server.connect_arguments()
    return eventually(
        lambda: request(arguments, f"$JS.API.{subject}"),
        f"an answer to {subject}",
        WORK_SECONDS,
        not_yet=(*UNANSWERED, RefusedError),
    )
