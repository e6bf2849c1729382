"""The plan for a QueueGroup in manifests that are only checked."""

from penstock_operator.plan.decision import Next
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.queue_groups import plan_queue_group
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Waiting
from tests.operator.plan.builders import declared

SPEC = {"consumerRef": {"name": "etl"}, "handler": {"entrypoint": "etl:process", "image": "example/etl"}}


NATS, ETL = Identity("Connection", "shop", "nats"), Identity("Consumer", "shop", "etl")
FOUND = GroupPlace(NATS, ETL, None, "S", "c", "S-c-dead", "dead.S.c", None)


def test_unsupported_setting_is_reported_first() -> None:
    plan = plan_queue_group(declared("QueueGroup", "etl", {**SPEC, "ordering": {"mode": "Key"}}), FOUND)
    [ready] = plan.verdicts
    assert ready.reason == "Invalid"
    assert "not built yet" in ready.message


def test_group_fits_or_waits_for_what_is_missing() -> None:
    plan = plan_queue_group(declared("QueueGroup", "etl", SPEC), FOUND)
    [ready] = plan.verdicts
    assert (ready.status, ready.reason, plan.action, plan.next) == ("True", "Fits", None, Next.WHEN_IT_CHANGES)
    [ready] = plan_queue_group(
        declared("QueueGroup", "etl", SPEC), Waiting(Reason.CONSUMER_NOT_FOUND, "There is none.")
    ).verdicts
    assert (ready.status, ready.reason, ready.message) == ("False", "ConsumerNotFound", "There is none.")


def test_group_that_is_being_deleted_has_no_verdicts() -> None:
    plan = plan_queue_group(declared("QueueGroup", "etl", SPEC, deleting=True), FOUND)
    assert plan.verdicts == ()
    assert plan.action is None
