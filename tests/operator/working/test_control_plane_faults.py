"""The API server is killed, kinds and namespaces are deleted: what is on NATS servers stays or goes as was declared."""

import uuid
from collections.abc import Iterator

import pytest

from tests.operator.conftest import install_crds
from tests.operator.running import RunningOperator, running_operator
from tests.operator.scene import Scene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.nats.authentication import user_and_password
from tests.testbed.nats.fixtures import StartNats

SECONDS = 120  # of waiting for what has to begin anew, on a machine that does other things too
MANY = 40
DELETE = {"deletion": "Delete"}


pytestmark = [
    pytest.mark.xdist_group("a control plane that is broken"),  # so that one is enough for all of them
    pytest.mark.timeout(600),  # each waits for several things, one after the other
]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane that knows our kinds and deletes namespaces. A test that breaks it repairs it."""
    plane = ControlPlane()
    plane.start()
    install_crds(plane)
    plane.start_controllers("namespace-controller")
    yield plane
    plane.stop()


@pytest.fixture
def shop(plane: ControlPlane) -> Namespace:
    return Namespace.create(plane, f"shop-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def operator(shop: Namespace) -> Iterator[RunningOperator]:
    with running_operator(shop.kubeconfig, "--namespace", shop.name, "--period", "0.5") as operator:
        operator.wait_ready()
        yield operator


@pytest.fixture
def scene(shop: Namespace, start_nats: StartNats, operator: RunningOperator) -> Scene:
    del operator
    scene = Scene(shop, start_nats())
    scene.connect()
    scene.wait_ready("connection/nats")
    return scene


def test_work_ends_as_declared_when_the_api_server_is_killed(
    scene: Scene, plane: ControlPlane, operator: RunningOperator
) -> None:
    scene.create_streams(MANY, **DELETE)
    scene.wait(lambda: len(scene.streams()) > 0, "the work has begun", SECONDS)
    kill_and_start(plane)
    scene.wait(lambda: scene.ready("streams") == MANY, "all are ready", SECONDS)
    assert len(scene.streams()) == MANY
    scene.namespace.client.begin_deletion_of_all("streams")
    scene.wait(lambda: len(scene.streams()) < MANY, "the end has begun", SECONDS)
    kill_and_start(plane)
    scene.wait(lambda: not scene.namespace.client.list("streams"), "all are gone", SECONDS)
    assert scene.streams() == []
    assert operator.program.is_running


def kill_and_start(plane: ControlPlane) -> None:
    plane.api_server.kill()
    plane.start_api_server()


def test_kind_that_is_created_again_adopts_retained_streams(
    scene: Scene, plane: ControlPlane, operator: RunningOperator
) -> None:
    scene.declare_stream()
    scene.declare_stream("drafts", management=DELETE)
    scene.declare_consumer()
    scene.wait_ready("stream/orders", "stream/drafts", "consumer/etl")
    scene.publish("orders.1", b"one")
    plane.client.delete("crd/streams.penstock.dev")
    assert scene.streams() == ["orders"], "what is declared to go with its object has gone, and nothing else"
    assert operator.program.wait_ended(SECONDS) == 1
    operator.start()  # as a kubelet does
    operator.wait_not_ready("does not know streams.penstock.dev")
    install_crds(plane)
    operator.wait_ready()
    scene.declare_stream()
    scene.wait_ready("stream/orders", "consumer/etl", seconds=SECONDS)
    held = scene.stream()
    assert held
    assert held["state"]["messages"] == 1
    assert scene.consumer()


@pytest.fixture
def secured(scene: Scene, start_nats: StartNats) -> Scene:
    """A server that needs a password, with a stream to retain, and a stream and a consumer to delete."""
    scene.server = start_nats(access=user_and_password())
    scene.connect_with_login()
    scene.declare_stream()
    scene.declare_stream("drafts", management=DELETE)
    scene.declare_consumer(management=DELETE)
    scene.wait_ready("connection/nats", "stream/orders", "stream/drafts", "consumer/etl")
    return scene


def delete_namespace(scene: Scene) -> None:
    scene.namespace.cluster.client.begin_deletion(f"namespace/{scene.namespace.name}")


def wait_namespace_gone(scene: Scene) -> None:
    client, name = scene.namespace.cluster.client, scene.namespace.name
    scene.wait(lambda: client.find(f"namespace/{name}") is None, f"namespace {name} is gone", SECONDS)


def test_deleted_namespace_deletes_on_the_server_only_what_is_declared_so(secured: Scene) -> None:
    """The controller deletes Secrets, Connections, Streams and Consumers all at once, in any order."""
    secured.declare_stream("waits", management=DELETE, connectionRef={"name": "missing"})
    secured.wait_condition("stream/waits", "Ready", "False", "ConnectionNotFound")
    delete_namespace(secured)
    wait_namespace_gone(secured)
    assert secured.streams() == ["orders"]
    assert secured.consumer() is None


def test_namespace_whose_server_is_away_goes_when_objects_are_abandoned(
    secured: Scene, operator: RunningOperator
) -> None:
    """The operator starts when the Secret is gone, so that it cannot log in, and the server is away."""
    operator.program.kill()
    secured.server.kill()
    delete_namespace(secured)
    secured.wait(lambda: not secured.exists("secret/login"), "the Secret is gone", SECONDS)
    operator.start()
    secured.wait_gone("stream/orders", SECONDS)
    assert secured.exists("connection/nats"), "the others need it"
    for what in ("stream/drafts", "consumer/etl"):
        secured.wait_names_abandon(what, SECONDS)
        secured.abandon(what)
    wait_namespace_gone(secured)
