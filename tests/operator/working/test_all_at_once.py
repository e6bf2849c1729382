"""All of a folder can be deleted at once: what is to go from the server goes first, and nothing stays behind."""

from tests.operator.scene import Scene
from tests.testbed.nats.authentication import user_and_password
from tests.testbed.nats.fixtures import StartNats

ALL = ("connections", "streams", "consumers", "secrets")


def test_a_connection_and_its_secret_deleted_with_the_rest_are_used_to_the_end(
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
    scene.wait(lambda: bool(scene.shown("connection/nats")["metadata"].get("finalizers")), "the Connection is held")
    scene.namespace.client.delete_all(*ALL)
    assert scene.stream() is None


def test_a_connection_that_nobody_needs_is_let_go_with_its_server_away(scene: Scene) -> None:
    scene.declare_stream()
    scene.wait_ready("stream/orders")
    scene.server.kill()
    scene.namespace.client.delete_all(*ALL)
    assert not scene.shown("connections")["items"]


def test_a_consumer_goes_from_where_it_was_even_if_its_stream_was_declared_anew_for_another(scene: Scene) -> None:
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
