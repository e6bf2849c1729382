"""What is said of a wrong or doubtful configuration, before any server is asked."""

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


def said(table: Table, config: dict[str, object], facts: Facts | None = None) -> list[str]:
    return [str(problem) for problem in validate(table, config, facts or Facts())]


def doubted(table: Table, config: dict[str, object], facts: Facts | None = None) -> list[str]:
    """Return the fields that are warned of; nothing may be wrong."""
    problems = validate(table, config, facts or Facts())
    assert {problem.severity for problem in problems} <= {Severity.WARNING}, problems
    return [problem.field for problem in problems]


def test_a_small_configuration_is_enough() -> None:
    assert validate(STREAM, {"name": "ORDERS"}) == []
    assert validate(CONSUMER, EXPLICIT) == []


@pytest.mark.requirement("X-09")
def test_a_field_that_does_not_exist_is_named_with_the_one_that_may_be_meant() -> None:
    (told,) = said(STREAM, {"name": "ORDERS", "max_mgs": 5})
    assert told.startswith("max_mgs: There is no such field")
    assert told.endswith("Did you mean max_msgs?")
    (deep,) = said(STREAM, {"name": "ORDERS", "sources": [{"name": "A", "filter": "x"}]})
    assert deep.startswith("sources[0].filter: ")


def test_a_value_of_the_wrong_type_is_told_with_its_place() -> None:
    assert said(STREAM, {"name": "ORDERS", "max_age": "1h", "placement": {"tags": ["a", 5]}}) == [
        "max_age: It must be a whole number of nanoseconds, not '1h'.",
        "placement.tags[1]: It must be a string, not 5.",
    ]


@pytest.mark.parametrize("value", [True, 1.5, "5", [5], {"a": 5}])
def test_a_number_is_a_whole_number(value: object) -> None:
    assert [problem.field for problem in validate(STREAM, {"name": "ORDERS", "max_msgs": value})] == ["max_msgs"]


def test_what_is_null_is_as_if_it_were_not_there() -> None:
    assert validate(STREAM, {"name": "ORDERS", "max_age": None, "mirror": None, "subjects": None}) == []


def test_a_choice_says_what_there_is_to_choose_from() -> None:
    (told,) = said(STREAM, {"name": "ORDERS", "retention": "WorkQueue"})
    assert told == "retention: It must be one of limits, interest, workqueue, not 'WorkQueue'."


def test_a_wrong_configuration_is_one_error_that_says_all() -> None:
    with pytest.raises(ConfigurationError, match=r"stream ORDERS is wrong: .*max_age.*retention") as caught:
        require_valid(STREAM, {"name": "ORDERS", "max_age": 5, "retention": "x"})
    assert [problem.field for problem in caught.value.problems] == ["max_age", "retention"]
    require_valid(CONSUMER, {"durable_name": "etl"})  # what is only doubtful passes


@pytest.mark.requirement("X-08")
def test_a_field_above_the_servers_level_names_the_level_and_the_server_that_has_it() -> None:
    (told,) = said(STREAM, {"name": "ORDERS", "allow_batched": True}, Facts(api_level=3))
    assert told == (
        "allow_batched: It needs JetStream API level 4 (nats-server 2.14); the servers have level 3. "
        "Leave it out, or upgrade the servers."
    )
    assert said(STREAM, {"name": "ORDERS", "allow_batched": True}, Facts(api_level=4)) == []


@pytest.mark.requirement("X-08")
def test_a_value_may_be_newer_than_its_field() -> None:
    config: dict[str, object] = {**EXPLICIT, "priority_policy": "prioritized", "priority_groups": ["workers"]}
    (told,) = said(CONSUMER, config, Facts(api_level=1))
    assert told.startswith("priority_policy: The value prioritized needs JetStream API level 2 (nats-server 2.12)")


@pytest.mark.requirement("X-18")
@pytest.mark.parametrize(
    "name", ["a.b", "a*", ">", "a/b", "a\\b", "a b", "a\tb", "a\n", "\u00a0", "\x00", "", "x" * 256]
)
def test_a_name_has_no_white_space_no_letters_of_subjects_or_paths_and_an_end(name: str) -> None:
    assert name_fault(name)
    assert [problem.field for problem in validate(STREAM, {"name": name})][:1] == ["name"]


@pytest.mark.requirement("X-18")
@pytest.mark.parametrize("name", ["ORDERS", "a-b_c", "KV_x", "größe", "%", "$x", "x" * 255])
def test_all_else_can_be_a_name(name: str) -> None:
    assert name_fault(name) == ""


@pytest.mark.requirement("X-04")
def test_metadata_that_a_server_wrote_may_be_sent_back_and_none_be_made_up() -> None:
    servers = {"_nats.ver": "2.15.1", "_nats.level": "5", "_nats.req.level": "0"}
    assert validate(STREAM, {"name": "ORDERS", "metadata": servers}) == []
    (told,) = said(STREAM, {"name": "ORDERS", "metadata": {**servers, "_natsy": "1"}})
    assert told.startswith("metadata._natsy: ")


@pytest.mark.requirement("X-04")
def test_metadata_is_bounded_in_bytes_not_letters() -> None:
    assert validate(STREAM, {"name": "ORDERS", "metadata": {"a": "x" * (128 * 1024 - 1)}}) == []
    assert len(said(STREAM, {"name": "ORDERS", "metadata": {"a": "ä" * (64 * 1024)}})) == 1


@pytest.mark.requirement("V-09")
def test_an_omitted_ack_policy_is_judged_as_what_is_sent_in_its_place() -> None:
    workqueue = Facts(stream={"name": "ORDERS", "retention": "workqueue"})
    assert said(CONSUMER, {"durable_name": "etl"}, workqueue) == []
    assert len(said(CONSUMER, {"durable_name": "etl", "ack_policy": "none"}, workqueue)) == 1


@pytest.mark.requirement("V-02")
def test_max_deliver_is_at_least_the_length_of_backoff() -> None:
    backoff = [SECOND, 2 * SECOND]
    assert said(CONSUMER, {**EXPLICIT, "backoff": backoff, "max_deliver": 1}) != []
    for enough in (2, 3, -1):
        assert said(CONSUMER, {**EXPLICIT, "backoff": backoff, "max_deliver": enough}) == []


@pytest.mark.requirement("V-02")
def test_backoff_that_overrides_ack_wait_is_warned_of() -> None:
    assert doubted(CONSUMER, {**EXPLICIT, "backoff": [SECOND], "ack_wait": 30 * SECOND}) == ["ack_wait"]
    assert doubted(CONSUMER, {**EXPLICIT, "backoff": [SECOND], "ack_wait": SECOND}) == []


def test_a_name_alone_makes_no_durable_consumer_and_that_is_warned_of() -> None:
    assert doubted(CONSUMER, {"name": "etl", "ack_policy": "explicit"}) == ["name"]


@pytest.mark.requirement("G-01", "G-02", "G-03", "G-04")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"priority_groups": []}, "priority_groups"),
        ({"priority_groups": ["a", "b"]}, "priority_groups"),
        ({"priority_groups": ["a b"]}, "priority_groups"),
        ({"priority_groups": ["x" * 17]}, "priority_groups[0]"),
        ({"priority_policy": "none"}, "priority_groups"),
        ({"priority_timeout": SECOND}, "priority_timeout"),
        ({"ack_policy": "none"}, "ack_policy"),
        ({"ack_policy": "all"}, "ack_policy"),
        ({"deliver_subject": "to.me"}, "priority_policy"),
    ],
)
def test_a_consumer_with_priorities_pulls_for_one_group_and_acknowledges_each_message(
    change: dict[str, object], field: str
) -> None:
    good: dict[str, object] = {**EXPLICIT, "priority_policy": "overflow", "priority_groups": ["a-Z_/=9"]}
    assert validate(CONSUMER, good) == []
    assert field in [problem.field for problem in validate(CONSUMER, {**good, **change})]


@pytest.mark.requirement("X-05")
def test_a_filter_outside_of_the_stream_is_warned_of() -> None:
    facts = Facts(stream={"name": "ORDERS", "subjects": ["orders.>"]})
    assert doubted(CONSUMER, {**EXPLICIT, "filter_subject": "order.eu"}, facts) == ["filter_subject"]
    assert doubted(CONSUMER, {**EXPLICIT, "filter_subject": "*.eu"}, facts) == []


@pytest.mark.requirement("X-15")
def test_the_policy_of_sources_brings_its_own_flow_control_and_heartbeat() -> None:
    sourcing = {"durable_name": "hub", "deliver_subject": "to.hub", "ack_policy": "flow_control"}
    assert validate(CONSUMER, sourcing) == []
    assert validate(CONSUMER, {**sourcing, "flow_control": True, "idle_heartbeat": SECOND}) == []
    assert [problem.field for problem in validate(CONSUMER, {**sourcing, "idle_heartbeat": 2 * SECOND})] == [
        "idle_heartbeat"
    ]


def test_what_no_other_field_forbids_depends_on_where_the_stream_is() -> None:
    assert said(STREAM, {"name": "ORDERS", "num_replicas": 3}, Facts(clustered=True)) == []
    assert said(STREAM, {"name": "ORDERS", "num_replicas": 3}, Facts(clustered=False)) != []
    assert doubted(STREAM, {"name": "ORDERS", "num_replicas": 2}) == ["num_replicas"]
    assert doubted(STREAM, {"name": "ORDERS", "storage": "memory"}) == ["storage"]
    assert said(STREAM, {"name": "ORDERS"}, Facts(max_bytes_required=True)) != []


@pytest.mark.requirement("X-06")
@pytest.mark.parametrize(
    ("source", "destination"),
    [
        ("orders.*", "orders.{{partition(16,1)}}.{{wildcard(1)}}"),
        ("orders.*.*", "$2.$1"),
        ("orders.*", "x.{{ split(1,-) }}.{{SplitFromLeft(1,2)}}"),
        ("orders", "orders.{{partition(4)}}"),
        ("orders.>", "copy.>"),
        ("", "copy.>"),
    ],
)
def test_a_transform_may_use_the_wildcards_of_its_source(source: str, destination: str) -> None:
    transform = {"src": source, "dest": destination}
    assert said(STREAM, {"name": "ORDERS", "subjects": ["orders.>"], "subject_transform": transform}) == []


def test_a_consumer_of_servers_is_none_of_ours() -> None:
    assert said(CONSUMER, {**EXPLICIT, "sourcing": False}) == []
    assert [problem.field for problem in validate(CONSUMER, {**EXPLICIT, "direct": True})] == ["direct"]
