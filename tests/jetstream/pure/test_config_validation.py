"""Validation of configurations before a server is asked: errors and warnings."""

from typing import Any

import pytest

from penstock_jetstream.config import (
    CONSUMER,
    STREAM,
    ConfigurationError,
    Facts,
    Severity,
    Table,
    name_fault,
    require_valid,
    validate,
)

Json = dict[str, Any]
SECOND = 10**9
EXPLICIT: Json = {"durable_name": "etl", "ack_policy": "explicit"}


def errors(table: Table, config: Json, facts: Facts | None = None) -> list[str]:
    return [str(problem) for problem in validate(table, config, facts or Facts())]


def fields(table: Table, config: Json) -> list[str]:
    return [problem.field for problem in validate(table, config)]


@pytest.mark.requirement("X-09")
def test_an_unknown_field_or_a_value_of_the_wrong_type_is_named_with_its_place_and_what_is_possible() -> None:
    (error,) = errors(STREAM, {"name": "ORDERS", "max_mgs": 5})
    assert error.startswith("max_mgs: There is no such field")
    assert error.endswith("Did you mean max_msgs?")
    (deep,) = errors(STREAM, {"name": "ORDERS", "sources": [{"name": "A", "filter": "x"}]})
    assert deep.startswith("sources[0].filter: ")
    assert errors(STREAM, {"name": "ORDERS", "max_age": "1h", "placement": {"tags": ["a", 5]}}) == [
        "max_age: It must be a whole number of nanoseconds, not '1h'.",
        "placement.tags[1]: It must be a string, not 5.",
    ]
    choices = "retention: It must be one of limits, interest, workqueue, not 'WorkQueue'."
    assert errors(STREAM, {"name": "ORDERS", "retention": "WorkQueue"}) == [choices]
    for value in (True, 1.5, "5", [5], {"a": 5}):
        assert fields(STREAM, {"name": "ORDERS", "max_msgs": value}) == ["max_msgs"]


def test_a_wrong_configuration_is_one_error_with_all_problems_and_warnings_pass() -> None:
    with pytest.raises(ConfigurationError, match=r"stream ORDERS is wrong: .*max_age.*retention") as caught:
        require_valid(STREAM, {"name": "ORDERS", "max_age": 5, "retention": "x"})
    assert [problem.field for problem in caught.value.problems] == ["max_age", "retention"]
    require_valid(CONSUMER, {"durable_name": "etl"})


@pytest.mark.requirement("X-08")
def test_a_field_or_value_above_the_servers_level_names_the_level_and_the_server_that_has_it() -> None:
    (error,) = errors(STREAM, {"name": "ORDERS", "allow_batched": True}, Facts(api_level=3))
    assert error == (
        "allow_batched: It needs JetStream API level 4 (nats-server 2.14); the servers have level 3. "
        "Leave it out, or upgrade the servers."
    )
    assert errors(STREAM, {"name": "ORDERS", "allow_batched": True}, Facts(api_level=4)) == []
    config: Json = {**EXPLICIT, "priority_policy": "prioritized", "priority_groups": ["workers"]}
    (error,) = errors(CONSUMER, config, Facts(api_level=1))
    assert error.startswith("priority_policy: The value prioritized needs JetStream API level 2 (nats-server 2.12)")


@pytest.mark.requirement("X-18")
def test_a_name_has_no_white_space_no_characters_of_subjects_or_paths_and_at_most_255(
    subtests: pytest.Subtests,
) -> None:
    for name in ("a.b", "a*", ">", "a/b", "a\\b", "a b", "a\tb", "a\n", "\u00a0", "\x00", "", "x" * 256):
        with subtests.test(refused=name[:9]):
            assert name_fault(name)
            assert fields(STREAM, {"name": name})[:1] == ["name"]
    for name in ("ORDERS", "a-b_c", "KV_x", "größe", "\U00014647", "%", "$x", "x" * 255):
        with subtests.test(accepted=name[:9]):
            assert name_fault(name) == ""


@pytest.mark.requirement("G-01", "G-02", "G-03", "G-04")
def test_a_consumer_with_priorities_pulls_for_one_group_and_acknowledges_each_message(
    subtests: pytest.Subtests,
) -> None:
    good: Json = {**EXPLICIT, "priority_policy": "overflow", "priority_groups": ["a-Z_/=9"]}
    assert validate(CONSUMER, good) == []
    cases: list[tuple[Json, str]] = [
        ({"priority_groups": []}, "priority_groups"),
        ({"priority_groups": ["a", "b"]}, "priority_groups"),
        ({"priority_groups": ["a b"]}, "priority_groups"),
        ({"priority_groups": ["x" * 17]}, "priority_groups[0]"),
        ({"priority_policy": "none"}, "priority_groups"),
        ({"priority_timeout": SECOND}, "priority_timeout"),
        ({"ack_policy": "none"}, "ack_policy"),
        ({"ack_policy": "all"}, "ack_policy"),
        ({"deliver_subject": "to.me"}, "priority_policy"),
    ]
    for change, field in cases:
        with subtests.test(str(change)):
            assert field in fields(CONSUMER, {**good, **change})


SERVERS_METADATA = {"_nats.ver": "2.15.1", "_nats.level": "5", "_nats.req.level": "0"}
SOURCING: Json = {"durable_name": "hub", "deliver_subject": "to.hub", "ack_policy": "flow_control"}
LIMITED = Facts(stream={"name": "ORDERS", "subjects": ["orders.>"]})
WORK_QUEUE = Facts(stream={"name": "ORDERS", "retention": "workqueue"})
ERROR, WARNING = Severity.ERROR, Severity.WARNING

STREAMS: list[tuple[Json, Facts, list[tuple[Severity, str]]]] = [
    ({}, Facts(), []),
    ({"max_age": None, "mirror": None, "subjects": None}, Facts(), []),
    ({"metadata": SERVERS_METADATA}, Facts(), []),
    ({"metadata": {**SERVERS_METADATA, "_natsy": "1"}}, Facts(), [(ERROR, "metadata._natsy")]),
    ({"metadata": {"a": "x" * (128 * 1024 - 1)}}, Facts(), []),
    ({"metadata": {"a": "ä" * (64 * 1024)}}, Facts(), [(ERROR, "metadata")]),
    ({"num_replicas": 3}, Facts(clustered=True), []),
    ({"num_replicas": 3}, Facts(clustered=False), [(ERROR, "num_replicas")]),
    ({"num_replicas": 2}, Facts(), [(WARNING, "num_replicas")]),
    ({"storage": "memory"}, Facts(), [(WARNING, "storage")]),
    ({}, Facts(max_bytes_required=True), [(ERROR, "max_bytes")]),
    *(
        ({"subjects": ["orders.>"], "subject_transform": {"src": source, "dest": destination}}, Facts(), [])
        for source, destination in (
            ("orders.*", "orders.{{partition(16,1)}}.{{wildcard(1)}}"),
            ("orders.*.*", "$2.$1"),
            ("orders.*", "x.{{ split(1,-) }}.{{SplitFromLeft(1,2)}}"),
            ("orders", "orders.{{partition(4)}}"),
            ("orders.>", "copy.>"),
            ("", "copy.>"),
        )
    ),
]
CONSUMERS: list[tuple[Json, Facts, list[tuple[Severity, str]]]] = [
    (EXPLICIT, Facts(), []),
    ({"name": "etl", "ack_policy": "explicit"}, Facts(), [(WARNING, "name")]),
    ({"durable_name": "etl"}, WORK_QUEUE, []),  # an ack policy that is left out is sent as explicit
    ({"durable_name": "etl", "ack_policy": "none"}, WORK_QUEUE, [(ERROR, "ack_policy")]),
    ({**EXPLICIT, "backoff": [SECOND, SECOND], "max_deliver": 1}, Facts(), [(ERROR, "max_deliver")]),
    ({**EXPLICIT, "backoff": [SECOND, SECOND], "max_deliver": 2}, Facts(), []),
    ({**EXPLICIT, "backoff": [SECOND, SECOND], "max_deliver": 3}, Facts(), []),
    ({**EXPLICIT, "backoff": [SECOND, SECOND], "max_deliver": -1}, Facts(), []),
    ({**EXPLICIT, "backoff": [SECOND], "ack_wait": 30 * SECOND}, Facts(), [(WARNING, "ack_wait")]),
    ({**EXPLICIT, "backoff": [SECOND], "ack_wait": SECOND}, Facts(), []),
    ({**EXPLICIT, "filter_subject": "order.eu"}, LIMITED, [(WARNING, "filter_subject")]),
    ({**EXPLICIT, "filter_subject": "*.eu"}, LIMITED, []),
    ({**EXPLICIT, "sourcing": False}, Facts(), []),
    ({**EXPLICIT, "direct": True}, Facts(), [(ERROR, "direct")]),
    (SOURCING, Facts(), []),
    ({**SOURCING, "flow_control": True, "idle_heartbeat": SECOND}, Facts(), []),
    ({**SOURCING, "idle_heartbeat": 2 * SECOND}, Facts(), [(ERROR, "idle_heartbeat")]),
]


@pytest.mark.requirement("V-02", "V-09", "X-04", "X-05", "X-06", "X-15")
def test_what_is_impossible_is_an_error_and_what_is_seldom_meant_a_warning(subtests: pytest.Subtests) -> None:
    """live/test_config_refusals.py has what servers refuse."""
    for table, cases in ((STREAM, STREAMS), (CONSUMER, CONSUMERS)):
        for config, facts, expected in cases:
            with subtests.test(table.kind, config=str(config)[:200]):
                whole = {"name": "ORDERS", **config} if table is STREAM else config
                assert [(problem.severity, problem.field) for problem in validate(table, whole, facts)] == expected
