"""What is said of a QueueGroup by a version that does not serve it."""

from typing import Any

from penstock_operator.plan.decision import Next
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.queue_groups import NOT_SERVED, plan_queue_group
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Waiting

SPEC = {"consumerRef": {"name": "etl"}, "handler": {"entrypoint": "etl:process", "image": "example/etl"}}


def declared(spec: dict[str, Any], **metadata: Any) -> Declared:  # noqa: ANN401 - JSON is anything
    return Declared.read({"kind": "QueueGroup", "metadata": {"name": "etl", **metadata}, "spec": spec})


def test_it_is_not_ready_for_this_version_does_not_serve_it() -> None:
    plan = plan_queue_group(declared(SPEC))
    [ready] = plan.verdicts
    assert (ready.type, ready.status, ready.reason, ready.message) == ("Ready", "False", "NotImplemented", NOT_SERVED)
    assert plan.action is None
    assert plan.next is Next.WHEN_IT_CHANGES


def test_what_is_wrong_with_it_is_said_first() -> None:
    plan = plan_queue_group(declared({**SPEC, "ordering": {"mode": "Key"}}))
    [ready] = plan.verdicts
    assert ready.reason == "Invalid"
    assert "not built yet" in ready.message


def test_where_it_is_served_it_fits_or_it_is_said_what_does_not() -> None:
    connection = Identity("Connection", "shop", "nats")
    found = GroupPlace(connection, Identity("Consumer", "shop", "etl"), None, "S", "c", "S-c-dead", "dead.S.c", None)
    [ready] = plan_queue_group(declared(SPEC), found).verdicts
    assert (ready.status, ready.reason) == ("True", "Fits")
    [ready] = plan_queue_group(declared(SPEC), Waiting(Reason.CONSUMER_NOT_FOUND, "There is none.")).verdicts
    assert (ready.status, ready.reason, ready.message) == ("False", "ConsumerNotFound", "There is none.")


def test_nothing_is_said_of_one_that_goes() -> None:
    plan = plan_queue_group(declared(SPEC, deletionTimestamp="2026-01-01T00:00:00Z"))
    assert plan.verdicts == ()
    assert plan.action is None
