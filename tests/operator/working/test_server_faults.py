"""NATS servers are killed, elect other leaders, and refuse our user during work: it ends as declared."""

import json
import os
import signal

import pytest

from tests.operator.running import RunningOperator
from tests.operator.scene import Object, Scene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.administration import UNANSWERED, RefusedError, request
from tests.testbed.nats.authentication import user_and_password
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.waiting import eventually

SECONDS = 120
MANY = 100
CHANGES = 8
DELETE = {"deletion": "Delete"}

pytestmark = pytest.mark.timeout(600)  # each waits for several things, one after the other


@pytest.mark.full
def test_server_killed_at_work_has_everything_in_the_end(scene: Scene) -> None:
    scene.declare_stream()
    scene.wait_ready("stream/orders")
    scene.publish("orders.1", b"one")
    scene.create_streams(MANY, **DELETE)
    scene.wait(lambda: len(scene.streams()) > 1, "the work has begun", SECONDS)
    scene.server.kill()
    scene.wait_condition("connection/nats", "Ready", "False", "Unreachable", seconds=SECONDS)
    scene.server.start()
    scene.wait(lambda: scene.ready("streams") == MANY + 1, "all are ready", SECONDS)
    assert len(scene.streams()) == MANY + 1
    held = scene.stream()
    assert held
    assert held["state"]["messages"] == 1
    scene.namespace.client.begin_deletion_of_all("streams")
    scene.wait(lambda: len(scene.streams()) < MANY, "the end has begun", SECONDS)
    scene.server.kill()
    scene.server.start()
    scene.wait(lambda: not scene.shown("streams")["items"], "all are gone", SECONDS)
    assert scene.streams() == ["orders"]


@pytest.mark.full
def test_user_whose_password_is_revoked_and_restored_needs_no_restart(
    served_namespace: Namespace, start_nats: StartNats, operator: RunningOperator
) -> None:
    access = user_and_password()
    scene = Scene(served_namespace, start_nats(access=access), operator)
    user, password = access.client.arguments["user"], access.client.arguments["password"]
    scene.secret("login", username=user, password=password)
    scene.connect(auth={"userPasswordSecretRef": {"name": "login"}})
    scene.declare_stream()
    scene.wait_ready("connection/nats", "stream/orders", seconds=SECONDS)
    replace_password(scene, password, "revoked")
    said = scene.wait_condition("connection/nats", "Ready", "False", "Unauthorized", seconds=SECONDS)
    assert password not in said["message"]
    scene.declare_stream(description="changed")
    scene.wait_condition("stream/orders", "Ready", "False", "ConnectionNotReady", seconds=SECONDS)
    replace_password(scene, "revoked", password)
    scene.wait_ready("connection/nats", "stream/orders", seconds=SECONDS)
    assert scene.config()["description"] == "changed"


def replace_password(scene: Scene, old: str, new: str) -> None:
    """Have the server know the user by another password; it ends the connections of those who came by the old one."""
    file = scene.server.config_file
    text = file.read_text()
    assert json.dumps(old) in text
    file.write_text(text.replace(json.dumps(old), json.dumps(new)))
    os.kill(scene.server.pid, signal.SIGHUP)


@pytest.mark.full
def test_changes_are_made_while_a_cluster_elects_other_leaders(
    served_namespace: Namespace, nats_cluster: NatsCluster, operator: RunningOperator
) -> None:
    scene = Scene(served_namespace, nats_cluster.nodes[0], operator)
    scene.apply("Connection", "nats", {"servers": nats_cluster.urls})
    scene.declare_stream(replicas=3, management=DELETE)
    scene.declare_consumer(management=DELETE)
    scene.wait_ready("stream/orders", "consumer/etl", seconds=SECONDS)
    for number in range(1, CHANGES + 1):
        scene.declare_stream(replicas=3, management=DELETE, description=str(number))
        scene.declare_consumer(management=DELETE, description=str(number))
        if number % 2:
            nats_cluster.step_down_stream("orders")
        else:
            nats_cluster.step_down_meta()
    scene.wait_ready("stream/orders", "consumer/etl", seconds=SECONDS)
    for subject in ("STREAM.INFO.orders", "CONSUMER.INFO.orders.etl"):
        assert settled(scene, subject)["config"]["description"] == str(CHANGES)
    scene.delete("stream/orders", wait=False)
    nats_cluster.step_down_meta()
    scene.wait_gone("stream/orders", SECONDS)
    scene.delete("consumer/etl")
    scene.wait(lambda: settled(scene, "STREAM.NAMES")["streams"] is None, "no stream is left", SECONDS)


def settled(scene: Scene, subject: str) -> Object:
    """Return what a cluster answers, once it does: what is asked while it elects a leader is lost, or refused."""
    arguments = scene.server.connect_arguments()
    return eventually(
        lambda: request(arguments, f"$JS.API.{subject}"),
        f"an answer to {subject}",
        SECONDS,
        not_yet=(*UNANSWERED, RefusedError),
    )
