"""A declared Stream and the stream on the server: made, kept, adopted, let go."""

import functools
from typing import Any

import pytest

from tests.operator.scene import Scene

HOUR = 3600 * 10**9


def test_a_declared_stream_is_made_and_said_to_be_ready(scene: Scene) -> None:
    scene.declare_stream(maxAge="1h")
    scene.wait_ready("stream/orders")
    assert scene.config()["max_age"] == HOUR
    assert scene.wait_event("stream/orders", "Created")["type"] == "Normal"


def test_a_change_of_the_spec_reaches_the_server_and_what_is_unset_is_the_servers_default(scene: Scene) -> None:
    scene.declare_stream(maxAge="1h", description="Orders")
    scene.wait_ready("stream/orders")
    scene.declare_stream(maxAge="2h")
    scene.wait_ready("stream/orders")
    assert scene.config()["max_age"] == 2 * HOUR
    assert "description" not in scene.config()


def test_a_stream_that_is_there_and_equal_is_adopted_without_a_touch(scene: Scene) -> None:
    scene.ask("STREAM.CREATE.orders", name="orders", subjects=["orders.>"])
    scene.publish("orders.1", b"one")
    before = scene.stream()
    scene.declare_stream()
    scene.wait_ready("stream/orders")
    assert scene.wait_event("stream/orders", "Adopted")["type"] == "Normal"
    assert scene.stream() == before


def test_a_stream_that_is_there_and_different_is_adopted_and_made_as_declared(scene: Scene) -> None:
    scene.ask("STREAM.CREATE.orders", name="orders", subjects=["orders.>"], max_age=HOUR)
    scene.publish("orders.1", b"one")
    scene.declare_stream()
    scene.wait_ready("stream/orders")
    assert "maxAge" in scene.wait_event("stream/orders", "Adopted")["message"]
    assert scene.config()["max_age"] == 0
    held = scene.stream()
    assert held
    assert held["state"]["messages"] == 1


def test_a_stream_that_is_only_observed_is_left_alone_and_what_differs_is_said(scene: Scene) -> None:
    scene.ask("STREAM.CREATE.orders", name="orders", subjects=["orders.>"], max_age=HOUR)
    before = scene.config()
    scene.declare_stream(management={"policy": "Observe"})
    said = scene.wait_condition("stream/orders", "Ready", "False")
    assert "maxAge" in said["message"]
    assert scene.config() == before


def test_by_default_a_stream_outlives_its_declaration_at_once(scene: Scene) -> None:
    scene.declare_stream()
    scene.wait_ready("stream/orders")
    assert "finalizers" not in scene.shown("stream/orders")["metadata"]
    scene.delete("stream/orders")
    assert scene.stream()


def test_a_stream_that_is_to_be_deleted_is_gone_before_its_declaration_is(scene: Scene) -> None:
    scene.declare_stream(management={"deletion": "Delete"})
    scene.wait_ready("stream/orders")
    scene.delete("stream/orders")
    assert scene.stream() is None


def test_a_stream_that_somebody_changed_is_changed_back_and_the_field_is_told(scene: Scene) -> None:
    scene.declare_stream(maxAge="1h")
    scene.wait_ready("stream/orders")
    scene.ask("STREAM.UPDATE.orders", **{**scene.config(), "max_age": 5 * HOUR})
    assert "maxAge" in scene.wait_event("stream/orders", "Drifted")["message"]
    scene.wait(lambda: scene.config()["max_age"] == HOUR, "it is changed back")
    scene.wait_ready("stream/orders")


def test_a_change_by_somebody_else_is_only_told_where_that_is_wanted(scene: Scene) -> None:
    scene.declare_stream(maxAge="1h", management={"drift": "Report"})
    scene.wait_ready("stream/orders")
    scene.ask("STREAM.UPDATE.orders", **{**scene.config(), "max_age": 5 * HOUR})
    said = scene.wait_condition("stream/orders", "Drifted", "True")
    assert "maxAge" in said["message"]
    scene.wait_condition("stream/orders", "Ready", "False")
    assert scene.config()["max_age"] == 5 * HOUR
    scene.ask("STREAM.UPDATE.orders", **{**scene.config(), "max_age": HOUR})
    scene.wait_ready("stream/orders")


def test_of_two_that_declare_one_stream_the_older_has_it_and_the_other_follows_when_it_goes(scene: Scene) -> None:
    scene.declare_stream("older", name="ORDERS", subjects=["orders.>"])
    scene.wait_ready("stream/older")
    scene.declare_stream("younger", name="ORDERS", subjects=["orders.>"], maxAge="1h")
    said = scene.wait_condition("stream/younger", "Ready", "False", "Conflict")
    assert "older" in said["message"]
    assert scene.config("ORDERS")["max_age"] == 0
    scene.delete("stream/older")
    scene.wait_ready("stream/younger")
    assert scene.config("ORDERS")["max_age"] == HOUR


def test_who_has_a_stream_that_another_declares_too_goes_on_showing_what_it_holds(scene: Scene) -> None:
    scene.declare_stream("older", name="ORDERS", subjects=["orders.>"])
    scene.wait_ready("stream/older")
    scene.declare_stream("younger", name="ORDERS", subjects=["orders.>"])
    scene.wait_condition("stream/younger", "Ready", "False", "Conflict")
    scene.publish("orders.1", b"one", b"two")
    scene.wait(lambda: messages_shown(scene, "older") == 2, "two messages are shown")
    assert messages_shown(scene, "younger") is None


def test_who_observes_a_stream_that_another_manages_sees_what_becomes_of_it(scene: Scene) -> None:
    declared: dict[str, Any] = {"name": "ORDERS", "subjects": ["orders.>"]}
    scene.declare_stream("managing", **declared)
    scene.wait_ready("stream/managing")
    scene.declare_stream("watching", **declared, management={"policy": "Observe"})
    scene.wait_condition("stream/watching", "Ready", "True", "Observed")
    scene.publish("orders.1", b"one", b"two")
    for name in ("managing", "watching"):
        scene.wait(functools.partial(shows_two_messages, scene, name), f"two messages are shown by {name}")
    scene.declare_stream("managing", **declared, maxAge="1h")
    assert "maxAge" in scene.wait_condition("stream/watching", "Ready", "False", "Drifted")["message"]


def messages_shown(scene: Scene, name: str) -> int | None:
    shown: int | None = scene.shown(f"stream/{name}")["status"].get("messages")
    return shown


def shows_two_messages(scene: Scene, name: str) -> bool:
    return messages_shown(scene, name) == 2


@pytest.mark.parametrize("deletion", ["Retain", "Delete"])
def test_a_declaration_is_renamed_without_a_touch_to_the_stream(scene: Scene, deletion: str) -> None:
    declared: dict[str, Any] = {"name": "ORDERS", "subjects": ["orders.>"], "management": {"deletion": deletion}}
    scene.declare_stream("orders", **declared)
    scene.wait_ready("stream/orders")
    scene.publish("orders.1", b"one")
    before = scene.stream("ORDERS")
    scene.declare_stream("sales", **declared)
    scene.wait_condition("stream/sales", "Ready", "False", "Conflict")
    scene.delete("stream/orders")
    scene.wait_ready("stream/sales")
    assert scene.stream("ORDERS") == before
    scene.delete("stream/sales")
    assert bool(scene.stream("ORDERS")) is (deletion == "Retain")


def test_a_paused_declaration_changes_nothing_until_it_is_resumed(scene: Scene) -> None:
    scene.declare_stream(maxAge="1h")
    scene.wait_ready("stream/orders")
    scene.namespace.client.annotate("stream/orders", {"penstock.dev/reconcile": "paused"})
    scene.wait_condition("stream/orders", "Ready", "Unknown", "Paused")
    scene.declare_stream(maxAge="2h", metadata={"annotations": {"penstock.dev/reconcile": "paused"}})
    scene.wait_condition("stream/orders", "Ready", "Unknown", "Paused")
    assert scene.config()["max_age"] == HOUR
    scene.namespace.client.annotate("stream/orders", {"penstock.dev/reconcile": None})
    scene.wait_ready("stream/orders")
    assert scene.config()["max_age"] == 2 * HOUR


def test_a_stream_shows_what_it_holds(scene: Scene) -> None:
    scene.declare_stream()
    scene.wait_ready("stream/orders")
    scene.publish("orders.1", b"one", b"two")
    scene.wait(lambda: shows_two_messages(scene, "orders"), "two messages are shown")
