"""A declared Stream and the stream on the server: created, kept as declared, adopted, and left."""

import asyncio
from functools import partial
from typing import Any

import pytest
from nats.aio.msg import Msg

from tests.operator.scene import Scene
from tests.testbed.nats.client import connection

PERIODS = 6
HOUR = 3600 * 10**9
SHARED: dict[str, Any] = {"name": "ORDERS", "subjects": ["orders.>"]}
"""What two Streams declare for the same stream on the server."""


@pytest.mark.interpreter
def test_stream_is_created_and_follows_changes_of_its_spec(scene: Scene) -> None:
    scene.declare_stream_and_wait(maxAge="1h", description="Orders")
    assert scene.config()["max_age"] == HOUR
    assert scene.wait_event("stream/orders", "Created")["type"] == "Normal"
    scene.declare_stream_and_wait(maxAge="2h")
    assert scene.config()["max_age"] == 2 * HOUR
    assert "description" not in scene.config(), "a field that is not set has the server's default"
    scene.publish("orders.1", b"one", b"two")
    wait_for_messages(scene, "orders", 2)


def test_existing_stream_is_adopted_and_changed_only_as_far_as_it_differs(scene: Scene) -> None:
    scene.ask("STREAM.CREATE.equal", name="equal", subjects=["equal.>"])
    for name in ("differs", "observed"):
        scene.ask(f"STREAM.CREATE.{name}", name=name, subjects=[f"{name}.>"], max_age=HOUR)
    scene.publish("equal.1", b"one")
    scene.publish("differs.1", b"one")
    equal, observed = scene.stream("equal"), scene.config("observed")
    scene.declare_stream("equal")
    scene.declare_stream("differs")
    scene.declare_stream("observed", management={"policy": "Observe"})
    scene.wait_ready("stream/equal", "stream/differs")

    assert scene.wait_event("stream/equal", "Adopted")["type"] == "Normal"
    assert scene.stream("equal") == equal
    assert "maxAge" in scene.wait_event("stream/differs", "Adopted")["message"]
    differs = scene.stream("differs") or {}
    assert (differs["config"]["max_age"], differs["state"]["messages"]) == (0, 1)
    assert "maxAge" in scene.wait_condition("stream/observed", "Ready", "False")["message"]
    assert scene.config("observed") == observed


def test_stream_survives_its_declaration_unless_it_is_to_be_deleted(scene: Scene) -> None:
    scene.declare_stream("stays")
    scene.declare_stream("goes", management={"deletion": "Delete"})
    scene.wait_ready("stream/stays", "stream/goes")
    assert "finalizers" not in scene.shown("stream/stays")["metadata"]
    scene.delete("stream/stays")
    scene.delete("stream/goes")
    assert scene.streams() == ["stays"]


def test_changes_by_others_are_reverted_or_only_reported(scene: Scene) -> None:
    scene.declare_stream("corrected", maxAge="1h")
    scene.declare_stream("reported", maxAge="1h", management={"drift": "Report"})
    scene.wait_ready("stream/corrected", "stream/reported")
    for name in ("corrected", "reported"):
        scene.ask(f"STREAM.UPDATE.{name}", **{**scene.config(name), "max_age": 5 * HOUR})
    assert "maxAge" in scene.wait_event("stream/corrected", "Drifted")["message"]
    scene.wait(lambda: scene.config("corrected")["max_age"] == HOUR, "it is changed back")
    scene.wait_ready("stream/corrected")
    assert "maxAge" in scene.wait_condition("stream/reported", "Drifted", "True")["message"]
    scene.wait_condition("stream/reported", "Ready", "False")
    assert scene.config("reported")["max_age"] == 5 * HOUR
    scene.ask("STREAM.UPDATE.reported", **{**scene.config("reported"), "max_age": HOUR})
    scene.wait_ready("stream/reported")


def test_older_of_two_declarations_has_the_stream_until_it_is_deleted(scene: Scene) -> None:
    scene.declare_stream_and_wait("older", **SHARED)
    scene.declare_stream("younger", **SHARED, maxAge="1h")
    assert "older" in scene.wait_condition("stream/younger", "Ready", "False", "Conflict")["message"]
    scene.publish("orders.1", b"one", b"two")
    wait_for_messages(scene, "older", 2)
    assert messages_shown(scene, "younger") is None
    assert scene.config("ORDERS")["max_age"] == 0
    scene.delete("stream/older")
    scene.wait_ready("stream/younger")
    assert scene.config("ORDERS")["max_age"] == HOUR


def test_observer_of_a_managed_stream_shows_its_state_and_its_changes(scene: Scene) -> None:
    scene.declare_stream_and_wait("managing", **SHARED)
    scene.declare_stream("watching", **SHARED, management={"policy": "Observe"})
    scene.wait_condition("stream/watching", "Ready", "True", "Observed")
    scene.publish("orders.1", b"one", b"two")
    for name in ("managing", "watching"):
        wait_for_messages(scene, name, 2)
    scene.declare_stream("managing", **SHARED, maxAge="1h")
    assert "maxAge" in scene.wait_condition("stream/watching", "Ready", "False", "Drifted")["message"]


def wait_for_messages(scene: Scene, name: str, count: int) -> None:
    scene.wait(lambda: messages_shown(scene, name) == count, f"{name} shows {count} messages")


def messages_shown(scene: Scene, name: str) -> int | None:
    shown: int | None = scene.shown(f"stream/{name}")["status"].get("messages")
    return shown


def test_renaming_a_declaration_leaves_the_stream_as_it_is(scene: Scene) -> None:
    for deletion in ("Retain", "Delete"):
        declared: dict[str, Any] = {**SHARED, "management": {"deletion": deletion}}
        scene.declare_stream_and_wait("orders", **declared)
        scene.publish("orders.1", b"one")
        before = scene.stream("ORDERS")
        scene.declare_stream("sales", **declared)
        scene.wait_condition("stream/sales", "Ready", "False", "Conflict")
        scene.delete("stream/orders")
        scene.wait_ready("stream/sales")
        assert scene.stream("ORDERS") == before
        scene.delete("stream/sales")
        assert bool(scene.stream("ORDERS")) is (deletion == "Retain")


def test_paused_declaration_changes_nothing_until_it_is_resumed(scene: Scene) -> None:
    scene.declare_stream_and_wait(maxAge="1h")
    scene.namespace.client.annotate("stream/orders", {"penstock.dev/reconcile": "paused"})
    scene.wait_condition("stream/orders", "Ready", "Unknown", "Paused")
    scene.declare_stream(maxAge="2h", metadata={"annotations": {"penstock.dev/reconcile": "paused"}})
    scene.wait_condition("stream/orders", "Ready", "Unknown", "Paused")
    assert scene.config()["max_age"] == HOUR
    scene.namespace.client.annotate("stream/orders", {"penstock.dev/reconcile": None})
    scene.wait_ready("stream/orders")
    assert scene.config()["max_age"] == 2 * HOUR


def versions(scene: Scene) -> dict[str, str]:
    """Return the version of each object in the namespace: any write, also of what is there already, raises one."""
    listed = scene.namespace.client.list("connections", "streams", "consumers", "events")
    return {one["metadata"]["uid"]: one["metadata"]["resourceVersion"] for one in listed}


async def test_objects_without_changes_cause_no_write_to_the_api_server_or_nats(scene: Scene) -> None:
    for name in ("orders", "bills"):
        scene.declare_stream(name)
        scene.declare_consumer(f"{name}-etl", stream=name)
    for name in ("orders", "bills"):
        scene.wait_ready(f"stream/{name}", f"consumer/{name}-etl")
        scene.wait_event(f"stream/{name}", "Created")
        scene.wait_event(f"consumer/{name}-etl", "Created")
        scene.wait(partial(shows_its_consumer, scene, name), f"{name} shows its consumer")
    before = versions(scene)
    changes: list[str] = []

    async def note(told: Msg) -> None:
        changes.append(told.subject)

    async with connection(**scene.server.connect_arguments()) as client:
        for kind in ("STREAM", "CONSUMER"):
            await client.subscribe(f"$JS.EVENT.ADVISORY.{kind}.>", cb=note)
        await client.flush()
        asked = scene.asked()
        await asyncio.to_thread(scene.wait, lambda: scene.asked() >= asked + PERIODS, "servers are read more often")
    assert versions(scene) == before
    assert changes == []


def shows_its_consumer(scene: Scene, stream: str) -> bool:
    return bool(scene.shown(f"stream/{stream}")["status"].get("consumers") == 1)
