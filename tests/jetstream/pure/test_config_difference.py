"""Differences between two configurations, and the update that removes them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_jetstream.config import (
    CONSUMER,
    STREAM,
    Facts,
    Impossible,
    Table,
    Unchanged,
    Update,
    diff,
    plan_update,
    validate,
)

Json = dict[str, Any]
SECOND = 10**9
ORDERS: Json = {
    "name": "ORDERS",
    "subjects": ["orders.>", "returns.>"],
    "retention": "limits",
    "max_consumers": -1,
    "max_msgs": -1,
    "max_bytes": -1,
    "max_age": 0,
    "max_msgs_per_subject": -1,
    "max_msg_size": -1,
    "discard": "old",
    "storage": "file",
    "num_replicas": 1,
    "duplicate_window": 120 * SECOND,
    "compression": "none",
    "allow_direct": False,
    "consumer_limits": {},
    "metadata": {"_nats.level": "5", "_nats.req.level": "0", "_nats.ver": "2.15.1"},
}
"""As a server answers for a stream of these subjects with nothing else given."""
ETL: Json = {
    "durable_name": "etl",
    "name": "etl",
    "deliver_policy": "all",
    "ack_policy": "explicit",
    "ack_wait": 30 * SECOND,
    "max_deliver": -1,
    "replay_policy": "instant",
    "max_waiting": 512,
    "max_ack_pending": 1000,
    "num_replicas": 0,
    "metadata": {"_nats.level": "5", "_nats.req.level": "0", "_nats.ver": "2.15.1"},
}
PLAIN = Facts(stream=ORDERS)
SMALL_STREAM: Json = {"name": "ORDERS", "subjects": ["returns.>", "orders.>"]}
SMALL_CONSUMER: Json = {"durable_name": "etl", "ack_policy": "explicit"}


@pytest.mark.requirement("X-08")
def test_defaults_of_the_server_are_no_difference() -> None:
    assert plan_update(STREAM, SMALL_STREAM, ORDERS) == Unchanged()
    assert plan_update(CONSUMER, SMALL_CONSUMER, ETL, PLAIN) == Unchanged()


def test_different_ways_to_write_the_same_are_no_difference(subtests: pytest.Subtests) -> None:
    limits = ("max_msgs", "max_bytes", "max_msgs_per_subject", "max_msg_size", "max_consumers")
    streams: list[tuple[Json, Json]] = [
        *(({limit: none}, {}) for limit in limits for none in (-1, 0, None)),
        ({"deny_delete": False}, {}),
        ({}, {"deny_delete": False}),
    ]
    for desired, actual in streams:
        with subtests.test(stream=str(desired)):
            assert diff(STREAM, {**SMALL_STREAM, **desired}, {**ORDERS, **actual}) == []
    limited = Facts(stream={**ORDERS, "consumer_limits": {"max_ack_pending": 77, "inactive_threshold": SECOND}})
    of_limits = {"max_ack_pending": 77, "inactive_threshold": SECOND}
    steps = {"ack_wait": SECOND, "backoff": [SECOND, 2 * SECOND]}
    consumers: list[tuple[Json, Json, Facts, set[str]]] = [
        ({"filter_subjects": ["orders.eu"]}, {"filter_subject": "orders.eu"}, PLAIN, set()),
        ({"filter_subjects": ["b", "a"]}, {"filter_subjects": ["a", "b"]}, PLAIN, set()),
        ({"backoff": [2 * SECOND, SECOND]}, steps, PLAIN, {"ack_wait", "backoff"}),  # their order means something
        ({}, of_limits, limited, set()),
        ({}, of_limits, PLAIN, {*of_limits}),
        ({}, of_limits, Facts(), set()),  # nothing is claimed about a stream that is not known
    ]
    for desired, actual, facts, different in consumers:
        with subtests.test(consumer=str(desired), actual=str(actual)):
            differences = diff(CONSUMER, {**SMALL_CONSUMER, **desired}, {**ETL, **actual}, facts)
            assert {difference.field for difference in differences} == different
    without_acks = {"durable_name": "etl", "ack_policy": "none"}
    assert diff(CONSUMER, without_acks, {**without_acks, "ack_wait": 30 * SECOND, "max_waiting": 512}, PLAIN) == []


def test_a_moment_is_the_same_in_any_zone_and_precision_but_a_nanosecond_makes_another() -> None:
    start = {"deliver_policy": "by_start_time", "opt_start_time": "2026-01-31T12:00:00Z"}
    for time in ("2026-01-31T12:00:00Z", "2026-01-31T13:00:00+01:00", "2026-01-31T12:00:00.000000000Z"):
        assert diff(CONSUMER, {**SMALL_CONSUMER, **start, "opt_start_time": time}, {**ETL, **start}, PLAIN) == []
    later = {**start, "opt_start_time": "2026-01-31T12:00:00.000000001Z"}
    (difference,) = diff(CONSUMER, {**SMALL_CONSUMER, **later}, {**ETL, **start}, PLAIN)
    assert difference.field == "opt_start_time"
    assert difference.obstacle


def test_only_what_is_given_can_be_compared_too() -> None:
    actual = {**ETL, "max_ack_pending": 5, "description": "x"}
    assert diff(CONSUMER, {"ack_policy": "explicit"}, actual, PLAIN, given_only=True) == []
    (difference,) = diff(CONSUMER, {"max_ack_pending": 6}, actual, PLAIN, given_only=True)
    assert str(difference) == "max_ack_pending: 5 is to be 6."


def test_an_update_has_all_that_is_desired_and_what_only_the_server_knows() -> None:
    actual = {**ORDERS, "from_the_future": {"a": 1}}
    plan = plan_update(STREAM, {**SMALL_STREAM, "max_msgs": 5, "metadata": {"team": "a"}}, actual)
    assert isinstance(plan, Update)
    assert [difference.field for difference in plan.differences] == ["metadata", "max_msgs"]
    servers = ORDERS["metadata"]
    assert isinstance(servers, dict)
    changed = {"max_msgs": 5, "metadata": {"team": "a", **servers}}
    assert plan.config == {**SMALL_STREAM, **changed, "from_the_future": {"a": 1}}
    plan = plan_update(STREAM, {**SMALL_STREAM, "from_the_future": 2}, {**ORDERS, "from_the_future": 1})
    assert isinstance(plan, Update)
    assert plan.config["from_the_future"] == 2


@pytest.mark.requirement("X-16")
def test_an_update_neither_pauses_nor_resumes_nor_makes_a_durable_consumer_ephemeral() -> None:
    paused = {**ETL, "pause_until": "2036-01-31T12:00:00Z"}
    assert plan_update(CONSUMER, SMALL_CONSUMER, paused, PLAIN) == Unchanged()
    changed = {**SMALL_CONSUMER, "pause_until": "2037-01-31T12:00:00Z", "description": "new"}
    plan = plan_update(CONSUMER, changed, paused, PLAIN)
    assert isinstance(plan, Update)
    assert "pause_until" not in plan.config
    plan = plan_update(CONSUMER, {"ack_policy": "explicit", "description": "new"}, ETL, PLAIN)
    assert isinstance(plan, Update)
    assert (plan.config["durable_name"], plan.config["ack_policy"]) == ("etl", "explicit")
    assert isinstance(plan_update(CONSUMER, {**SMALL_CONSUMER, "durable_name": "other"}, ETL, PLAIN), Impossible)


@pytest.mark.requirement("V-09")
def test_an_omitted_ack_policy_is_explicit_whatever_is_there() -> None:
    assert CONSUMER.complete({"durable_name": "etl"}) == SMALL_CONSUMER
    assert CONSUMER.complete({**SMALL_CONSUMER, "ack_policy": "none"})["ack_policy"] == "none"
    assert plan_update(CONSUMER, {"durable_name": "etl"}, ETL, PLAIN) == Unchanged()
    plan = plan_update(CONSUMER, {"durable_name": "etl"}, {**ETL, "ack_policy": "all"}, PLAIN)
    assert isinstance(plan, Impossible)
    assert str(plan) == "ack_policy: 'all' is to be 'explicit'. It is set at creation, for good."


@pytest.mark.requirement("X-07", "X-11", "X-13")
def test_what_no_update_can_change_is_named_with_the_field_and_the_reason(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Json, Json]] = [
        ({"storage": "file"}, {"storage": "memory"}),
        ({"retention": "workqueue"}, {"retention": "limits"}),
        ({"allow_msg_ttl": True}, {}),
        ({"allow_msg_schedules": True, "allow_rollup_hdrs": True}, {"allow_rollup_hdrs": True}),
        ({"persist_mode": "async"}, {}),
        ({"first_seq": 5}, {"first_seq": 6}),
        ({"sealed": True, "discard": "new", "deny_delete": True, "deny_purge": True}, {}),
    ]
    for actual, desired in cases:
        with subtests.test(str(actual)):
            plan = plan_update(STREAM, {**SMALL_STREAM, **desired}, {**ORDERS, **actual})
            assert isinstance(plan, Impossible)
            assert all(obstacle.obstacle.endswith(".") for obstacle in plan.obstacles)
            assert {obstacle.field for obstacle in plan.obstacles} <= {*actual, *desired}
    for flag in ("allow_msg_ttl", "deny_delete", "deny_purge", "sealed"):
        assert isinstance(plan_update(STREAM, {**SMALL_STREAM, flag: True}, ORDERS), Update), "can be switched on"
    plan = plan_update(STREAM, {**SMALL_STREAM, "storage": "memory", "max_msgs": 5}, ORDERS)
    assert isinstance(plan, Impossible)
    assert [difference.field for difference in plan.differences] == ["storage", "max_msgs"], "possible ones too"
    assert [obstacle.field for obstacle in plan.obstacles] == ["storage"]


@pytest.mark.requirement("G-04")
def test_priorities_stay_as_they_were_created() -> None:
    pinned = {**ETL, "priority_policy": "pinned_client", "priority_groups": ["a"], "priority_timeout": 120 * SECOND}
    for policy, groups in (("overflow", ["a"]), ("pinned_client", ["b"]), ("none", [])):
        desired = {**SMALL_CONSUMER, "priority_policy": policy, "priority_groups": groups}
        assert isinstance(plan_update(CONSUMER, desired, pinned, PLAIN), Impossible)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def some_config(table: Table) -> st.SearchStrategy[Json]:
    """Make configurations of any fields with values of any type, right examples among them."""
    right = [(field.name, field.example) for field in table.fields if field.example is not None]
    wrong = st.tuples(st.sampled_from([field.name for field in table.fields]) | st.text(max_size=8), anything)
    return st.lists(st.sampled_from(right) | wrong, max_size=8).map(dict)


Case = tuple[Table, Json, Json]
configs: st.SearchStrategy[Case] = st.sampled_from([STREAM, CONSUMER]).flatmap(
    lambda table: st.tuples(st.just(table), some_config(table), some_config(table))
)


@given(configs)
def test_any_configuration_is_judged_without_an_exception(case: Case) -> None:
    table, one, other = case
    facts = Facts(api_level=0, clustered=False, stream=other)
    assert all(str(problem) for problem in validate(table, one, facts))
    assert plan_update(table, one, other, facts) is not None


@given(configs)
def test_nothing_differs_from_itself_or_after_its_update(case: Case) -> None:
    table, desired, actual = case
    reordered = dict(reversed(json.loads(json.dumps(table.complete(desired))).items()))
    assert plan_update(table, desired, reordered) == Unchanged()
    plan = plan_update(table, desired, actual)
    if isinstance(plan, Update):
        assert plan_update(table, desired, plan.config) == Unchanged()
