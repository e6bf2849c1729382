"""Secrets come, change and go, and the Connections that name them follow without a restart."""

import json

import pytest

from tests.operator.running import RunningOperator
from tests.operator.scene import Scene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.authentication import Access, Login, user_and_password
from tests.testbed.nats.fixtures import StartNats

AUTH = {"userPasswordSecretRef": {"name": "login"}}


@pytest.fixture
def access() -> Access:
    return user_and_password()


@pytest.fixture
def secured(served_namespace: Namespace, start_nats: StartNats, operator: RunningOperator, access: Access) -> Scene:
    """A server that lets one user in, a Connection that names a Secret, and a Stream that waits for both."""
    scene = Scene(served_namespace, start_nats(access=access), operator)
    scene.connect(auth=AUTH)
    scene.declare_stream()
    return scene


def put(scene: Scene, login: Login) -> None:
    scene.secret("login", username=login.arguments["user"], password=login.arguments["password"])


def test_connection_follows_its_secret_which_appears_in_no_status_event_or_log(secured: Scene, access: Access) -> None:
    secured.wait_condition("connection/nats", "Ready", "False", "SecretNotFound")
    secured.wait_condition("stream/orders", "Ready", "False", "ConnectionNotReady")
    secured.secret("login", username="ann", password="hunter2-hunter2")
    said = secured.wait_condition("connection/nats", "Ready", "False", "Unauthorized")
    assert "hunter2" not in said["message"]
    put(secured, access.client)
    secured.wait_ready("connection/nats", "stream/orders")
    assert secured.stream()
    shown = json.dumps(secured.namespace.client.list("connections", "streams", "events"))
    for secret in ("hunter2-hunter2", access.client.arguments["password"]):
        assert secret not in shown
        assert secret not in secured.operator.program.log.read_text()


@pytest.mark.full
def test_without_its_secret_a_connection_only_deletes_what_is_to_be_deleted(secured: Scene, access: Access) -> None:
    """The controller that empties a namespace may take its Secrets first, and the rest much later."""
    put(secured, access.client)
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
