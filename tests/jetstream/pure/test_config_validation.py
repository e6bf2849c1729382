"""Validation of configurations before a server is asked: errors and warnings."""

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

SECOND = 10**9
EXPLICIT = {"durable_name": "etl", "ack_policy": "explicit"}


def errors(table: Table, config: dict[str, object], facts: Facts | None = None) -> list[str]:
    return [str(problem) for problem in validate(table, config, facts or Facts())]


def fields(table: Table, config: dict[str, object]) -> list[str]:
    return [problem.field for problem in validate(table, config)]


def test_a_small_configuration_is_enough_and_null_is_as_good_as_absent() -> None:
    assert validate(STREAM, {"name": "ORDERS"}) == []
    assert validate(STREAM, {"name": "ORDERS", "max_age": None, "mirror": None, "subjects": None}) == []
    assert validate(CONSUMER, EXPLICIT) == []


@pytest.mark.requirement("X-09")
def test_an_unknown_field_is_named_with_the_one_that_may_be_meant() -> None:
    (error,) = errors(STREAM, {"name": "ORDERS", "max_mgs": 5})
    assert error.startswith("max_mgs: There is no such field")
    assert error.endswith("Did you mean max_msgs?")
    (deep,) = errors(STREAM, {"name": "ORDERS", "sources": [{"name": "A", "filter": "x"}]})
    assert deep.startswith("sources[0].filter: ")


def test_a_value_of_the_wrong_type_is_named_with_its_place_and_what_is_possible() -> None:
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
    config: dict[str, object] = {**EXPLICIT, "priority_policy": "prioritized", "priority_groups": ["workers"]}
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


@pytest.mark.requirement("X-04")
def test_metadata_of_a_server_may_be_sent_back_but_not_invented_and_is_bounded_in_bytes() -> None:
    servers = {"_nats.ver": "2.15.1", "_nats.level": "5", "_nats.req.level": "0"}
    assert validate(STREAM, {"name": "ORDERS", "metadata": servers}) == []
    (error,) = errors(STREAM, {"name": "ORDERS", "metadata": {**servers, "_natsy": "1"}})
    assert error.startswith("metadata._natsy: ")
    assert validate(STREAM, {"name": "ORDERS", "metadata": {"a": "x" * (128 * 1024 - 1)}}) == []
    assert len(errors(STREAM, {"name": "ORDERS", "metadata": {"a": "ä" * (64 * 1024)}})) == 1


@pytest.mark.requirement("V-09")
def test_an_omitted_ack_policy_is_judged_as_explicit_which_is_sent() -> None:
    workqueue = Facts(stream={"name": "ORDERS", "retention": "workqueue"})
    assert errors(CONSUMER, {"durable_name": "etl"}, workqueue) == []
    assert len(errors(CONSUMER, {"durable_name": "etl", "ack_policy": "none"}, workqueue)) == 1


@pytest.mark.requirement("V-02")
def test_backoff_is_at_most_as_long_as_max_deliver() -> None:
    backoff = [SECOND, 2 * SECOND]
    assert errors(CONSUMER, {**EXPLICIT, "backoff": backoff, "max_deliver": 1}) != []
    for enough in (2, 3, -1):
        assert errors(CONSUMER, {**EXPLICIT, "backoff": backoff, "max_deliver": enough}) == []


@pytest.mark.requirement("V-02", "X-05")
def test_what_is_possible_but_seldom_meant_is_a_warning(subtests: pytest.Subtests) -> None:
    orders = Facts(stream={"name": "ORDERS", "subjects": ["orders.>"]})
    cases: list[tuple[Table, dict[str, object], Facts, list[str]]] = [
        (CONSUMER, {**EXPLICIT, "backoff": [SECOND], "ack_wait": 30 * SECOND}, Facts(), ["ack_wait"]),
        (CONSUMER, {**EXPLICIT, "backoff": [SECOND], "ack_wait": SECOND}, Facts(), []),
        (CONSUMER, {"name": "etl", "ack_policy": "explicit"}, Facts(), ["name"]),
        (CONSUMER, {**EXPLICIT, "filter_subject": "order.eu"}, orders, ["filter_subject"]),
        (CONSUMER, {**EXPLICIT, "filter_subject": "*.eu"}, orders, []),
        (STREAM, {"name": "ORDERS", "num_replicas": 2}, Facts(), ["num_replicas"]),
        (STREAM, {"name": "ORDERS", "storage": "memory"}, Facts(), ["storage"]),
    ]
    for table, config, facts, fields_warned_of in cases:
        with subtests.test(str(config)):
            problems = validate(table, config, facts)
            assert {problem.severity for problem in problems} <= {Severity.WARNING}, problems
            assert [problem.field for problem in problems] == fields_warned_of


def test_replicas_limits_and_consumers_that_only_servers_create_are_refused_where_they_are_impossible() -> None:
    assert errors(STREAM, {"name": "ORDERS", "num_replicas": 3}, Facts(clustered=True)) == []
    assert errors(STREAM, {"name": "ORDERS", "num_replicas": 3}, Facts(clustered=False)) != []
    assert errors(STREAM, {"name": "ORDERS"}, Facts(max_bytes_required=True)) != []
    assert errors(CONSUMER, {**EXPLICIT, "sourcing": False}) == []
    assert fields(CONSUMER, {**EXPLICIT, "direct": True}) == ["direct"]


@pytest.mark.requirement("G-01", "G-02", "G-03", "G-04")
def test_a_consumer_with_priorities_pulls_for_one_group_and_acknowledges_each_message(
    subtests: pytest.Subtests,
) -> None:
    good: dict[str, object] = {**EXPLICIT, "priority_policy": "overflow", "priority_groups": ["a-Z_/=9"]}
    assert validate(CONSUMER, good) == []
    cases: list[tuple[dict[str, object], str]] = [
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


@pytest.mark.requirement("X-15")
def test_the_ack_policy_of_sources_has_its_own_flow_control_and_heartbeat() -> None:
    sourcing = {"durable_name": "hub", "deliver_subject": "to.hub", "ack_policy": "flow_control"}
    assert validate(CONSUMER, sourcing) == []
    assert validate(CONSUMER, {**sourcing, "flow_control": True, "idle_heartbeat": SECOND}) == []
    assert fields(CONSUMER, {**sourcing, "idle_heartbeat": 2 * SECOND}) == ["idle_heartbeat"]


@pytest.mark.requirement("X-06")
def test_a_transform_may_use_the_wildcards_of_its_source(subtests: pytest.Subtests) -> None:
    transforms = [
        ("orders.*", "orders.{{partition(16,1)}}.{{wildcard(1)}}"),
        ("orders.*.*", "$2.$1"),
        ("orders.*", "x.{{ split(1,-) }}.{{SplitFromLeft(1,2)}}"),
        ("orders", "orders.{{partition(4)}}"),
        ("orders.>", "copy.>"),
        ("", "copy.>"),
    ]
    for source, destination in transforms:
        with subtests.test(destination):
            transform = {"src": source, "dest": destination}
            orders = {"name": "ORDERS", "subjects": ["orders.>"]}
            assert errors(STREAM, {**orders, "subject_transform": transform}) == []
