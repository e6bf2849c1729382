"""All of a folder can be deleted at once: what is to be deleted on the server goes first, and nothing is left."""

import pytest

from tests.operator.scene import Scene
from tests.testbed.nats.authentication import user_and_password
from tests.testbed.nats.fixtures import StartNats

ALL = ("connections", "streams", "consumers", "secrets")


def test_connection_and_secret_deleted_with_the_rest_serve_until_all_is_deleted(
    scene: Scene, start_nats: StartNats
) -> None:
    access = user_and_password()
    scene.server = start_nats(access=access)
    login = access.client.arguments
    scene.secret("login", username=login["user"], password=login["password"])
    scene.connect(auth={"userPasswordSecretRef": {"name": "login"}})
    scene.declare_stream(management={"deletion": "Delete"})
    scene.declare_consumer(management={"deletion": "Delete"})
    scene.wait_ready("connection/nats", "stream/orders", "consumer/etl")
    scene.wait(
        lambda: bool(scene.shown("connection/nats")["metadata"].get("finalizers")), "the Connection has a finalizer"
    )
    scene.namespace.client.delete_all(*ALL)
    assert scene.stream() is None


@pytest.mark.full
def test_connection_without_dependants_is_deleted_with_its_server_away(scene: Scene) -> None:
    scene.declare_stream()
    scene.wait_ready("stream/orders")
    scene.server.kill()
    scene.namespace.client.delete_all(*ALL)
    assert not scene.shown("connections")["items"]


@pytest.mark.full
def test_consumer_is_deleted_from_its_former_stream_if_the_declaration_names_another_now(scene: Scene) -> None:
    for name in ("orders", "bills"):
        scene.ask(f"STREAM.CREATE.{name}", name=name, subjects=[f"{name}.>"])
    scene.ask("CONSUMER.DURABLE.CREATE.bills.etl", stream_name="bills", config={"durable_name": "etl"})
    scene.connect()
    scene.declare_stream("books", name="orders", subjects=["orders.>"])
    scene.declare_consumer(stream="books", management={"deletion": "Delete"})
    scene.wait_ready("consumer/etl")
    scene.delete("stream/books")
    scene.declare_stream("books", name="bills", subjects=["bills.>"])
    scene.delete("consumer/etl")
    assert scene.consumer(stream="orders") is None
    assert scene.consumer(stream="bills")
