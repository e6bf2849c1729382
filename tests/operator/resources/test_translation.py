"""Between a spec and the server's configuration: nothing is missing, nothing is lost, and the words are ours."""

import re
from collections.abc import Iterator
from typing import Any

import pydantic
import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from penstock_jetstream.config import CONSUMER, STREAM, Field, Severity, Table, Unchanged, plan_update, validate, values
from penstock_operator.resources import ConsumerSpec, StreamSpec
from penstock_operator.resources.part import Part
from penstock_operator.resources.server import counterparts
from penstock_operator.resources.spelling import from_server, to_server
from penstock_operator.resources.translation import (
    consumer_config,
    consumer_spec,
    spec_field,
    spec_value,
    spec_words,
    stream_config,
    stream_spec,
)
from tests.operator.resources import consumer_rows, stream_rows

Json = dict[str, Any]
SECOND = 10**9
NOT_OURS = {
    "stream.placement.preferred": "servers refuse it: only a request to step down can say so",
    "consumer.name": "a durable consumer's name is its durable_name; both are always sent",
    "consumer.filter_subject": "filterSubjects says it, for one subject as for several",
    "consumer.direct": "servers keep it for themselves",
    "consumer.sourcing": "servers keep it for themselves",
}


def missing(part: type[Part], fields: tuple[Field, ...], path: str) -> Iterator[str]:
    """Yield the paths of the server's fields that no field of ours becomes."""
    ours = {each.server.name: each for each in counterparts(part, fields)}
    yield from (f"{path}.{field.name}" for field in fields if field.name not in ours)
    for name, each in ours.items():
        kind = each.server.type.of if isinstance(each.server.type, values.ListOf) else each.server.type
        if isinstance(kind, values.Record):
            assert each.part is not None
            yield from missing(each.part, kind.fields, f"{path}.{name}")


def test_every_field_of_the_server_can_be_said() -> None:
    absent = {*missing(StreamSpec, STREAM.fields, "stream"), *missing(ConsumerSpec, CONSUMER.fields, "consumer")}
    assert absent == set(NOT_OURS)


@pytest.mark.parametrize(("part", "table"), [(StreamSpec, STREAM), (ConsumerSpec, CONSUMER)])
def test_every_choice_of_the_server_is_one_of_ours_and_back(part: type[Part], table: Table) -> None:
    for each in counterparts(part, table.fields):
        if isinstance(each.server.type, values.Choice):
            ours = [from_server(each, name) for name in each.server.type.names]
            assert sorted(ours) == sorted(
                member for kind in each.types for member in getattr(kind, "__members__", {}).values()
            )
            assert [to_server(each, word) for word in ours] == list(each.server.type.names)


def accepted(rows: Any) -> list[Json]:  # noqa: ANN401 - a module
    """Return the fields of all rows that are accepted, and can stand beside others."""
    kept = [kept for kept, _ in rows.RULES.values()]
    changed = [fields for there, allowed, _ in rows.CHANGES.values() for fields in (there, allowed)]
    return [fields for fields in kept + changed if None not in fields.values()]


def specs(part: type[Part], rows: Any) -> some.SearchStrategy[Part]:  # noqa: ANN401 - a module
    """Make up specs that join several rows of the table of rules."""

    def joined(picked: list[Json]) -> Part:
        together = {name: value for fields in picked for name, value in fields.items() if value is not None}
        try:
            return part.read({**rows.SMALLEST, **together})
        except pydantic.ValidationError:
            assume(condition=False)
            raise

    return some.lists(some.sampled_from(accepted(rows)), max_size=4).map(joined)


@given(specs(StreamSpec, stream_rows))
def test_a_stream_says_the_same_after_the_way_there_and_back(spec: StreamSpec) -> None:
    config = stream_config(spec, "ORDERS")
    again = StreamSpec.read({**stream_rows.SMALLEST, **stream_spec(config)})
    assert plan_update(STREAM, stream_config(again, "unused"), config) == Unchanged()
    assert stream_spec(stream_config(again, "unused")) == stream_spec(config)


@given(specs(ConsumerSpec, consumer_rows))
def test_a_consumer_says_the_same_after_the_way_there_and_back(spec: ConsumerSpec) -> None:
    config = consumer_config(spec, "etl")
    again = ConsumerSpec.read({**consumer_rows.SMALLEST, **consumer_spec(config)})
    assert plan_update(CONSUMER, consumer_config(again, "unused"), config) == Unchanged()
    assert consumer_spec(consumer_config(again, "unused")) == consumer_spec(config)


@pytest.mark.parametrize("rows", [stream_rows, consumer_rows], ids=["Stream", "Consumer"])
def test_what_rules_let_pass_the_client_library_accepts_too(rows: Any) -> None:  # noqa: ANN401 - a module
    is_stream = rows is stream_rows
    for fields, _ in rows.RULES.values():
        spec = {name: value for name, value in {**rows.SMALLEST, **fields}.items() if value is not None}
        config = (
            stream_config(StreamSpec.read(spec), "ORDERS")
            if is_stream
            else consumer_config(ConsumerSpec.read(spec), "c")
        )
        problems = validate(STREAM if is_stream else CONSUMER, config)
        assert [problem for problem in problems if problem.severity is Severity.ERROR] == [], fields


def test_a_name_that_is_not_given_is_the_objects() -> None:
    assert stream_config(StreamSpec.read(stream_rows.SMALLEST), "orders") == {"name": "orders"}


def test_a_consumer_is_durable_and_acknowledged_unless_it_says_otherwise() -> None:
    smallest = consumer_config(ConsumerSpec.read(consumer_rows.SMALLEST), "etl")
    assert smallest == {"durable_name": "etl", "name": "etl", "ack_policy": "explicit", "ack_wait": 30 * SECOND}
    none = ConsumerSpec.read({**consumer_rows.SMALLEST, "ackPolicy": "None", "name": "other"})
    assert consumer_config(none, "etl") == {"durable_name": "other", "name": "other", "ack_policy": "none"}


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ([], {}),
        (["orders.new"], {"filter_subject": "orders.new"}),
        (["orders.new", "orders.old"], {"filter_subjects": ["orders.new", "orders.old"]}),
    ],
    ids=["none", "one", "two"],
)
def test_a_single_filter_is_said_where_permissions_can_see_it(filters: list[str], said: Json) -> None:
    config = consumer_config(
        ConsumerSpec.model_validate({"streamRef": {"name": "s"}, "filterSubjects": filters}), "etl"
    )
    assert {name: value for name, value in config.items() if name.startswith("filter")} == said


def test_what_is_visible_only_as_a_default_does_not_stand_against_backoff() -> None:
    spec = ConsumerSpec.read({**consumer_rows.SMALLEST, "backoff": ["1s", "1m"]})
    assert "ack_wait" not in consumer_config(spec, "etl")


def test_what_a_server_adds_for_itself_is_not_imported() -> None:
    answered = {
        "name": "ORDERS",
        "subjects": ["ORDERS"],
        "duplicate_window": 120 * SECOND,
        "max_msgs": -1,
        "num_replicas": 1,
        "metadata": {"_nats.ver": "2.15.1", "team": "checkout"},
    }
    assert stream_spec(answered) == {"name": "ORDERS", "metadata": {"team": "checkout"}}


def test_a_choice_that_only_a_newer_server_knows_is_told_in_our_spelling() -> None:
    assert stream_spec({"name": "ORDERS", "retention": "until_midnight"})["retention"] == "UntilMidnight"


@pytest.mark.parametrize(
    ("kind", "theirs", "ours"),
    [
        ("Stream", "max_msgs_per_subject", "maxMessagesPerSubject"),
        ("Stream", "sources[0].filter_subject", "sources[0].filterSubject"),
        ("Stream", "sources[1].subject_transforms[0].dest", "sources[1].subjectTransforms[0].destination"),
        ("Consumer", "filter_subject", "filterSubjects"),
        ("Consumer", "name", "name"),
        ("Consumer", "num_replicas", "replicas"),
        ("Stream", "metadata._nats.x", "metadata._nats.x"),
        ("Stream", "of_a_newer_server", "of_a_newer_server"),
    ],
)
def test_a_field_is_called_what_manifests_call_it(kind: str, theirs: str, ours: str) -> None:
    assert spec_field(kind, theirs) == ours


@pytest.mark.parametrize(
    ("kind", "field", "value", "shown"),
    [
        ("Stream", "max_age", 3600 * SECOND, "1h"),
        ("Stream", "max_age", 0, "not set"),
        ("Stream", "max_bytes", 32 * 2**20, "32Mi"),
        ("Stream", "max_msgs", -1, "not set"),
        ("Stream", "retention", "workqueue", "WorkQueue"),
        ("Stream", "subjects", ["a", "b"], '["a", "b"]'),
        ("Stream", "allow_direct", False, "false"),
        ("Stream", "allow_direct", True, "true"),
        ("Stream", "num_replicas", 3, "3"),
        ("Stream", "mirror", {"name": "A", "opt_start_seq": 7}, '{"name": "A", "startSequence": 7}'),
        ("Consumer", "backoff", [SECOND, 90 * SECOND], '["1s", "1m30s"]'),
        ("Consumer", "filter_subject", "a", '["a"]'),
        ("Consumer", "sample_freq", "25%", "25"),
        ("Consumer", "of_a_newer_server", [1], "[1]"),
    ],
)
def test_a_value_is_spelt_as_manifests_spell_it(kind: str, field: str, value: object, shown: str) -> None:
    assert spec_value(kind, field, value) == shown


def test_sentences_about_configurations_keep_nothing_of_the_servers_spelling() -> None:
    said = spec_words("Consumer", "priority_policy is pinned_client. deliver_policy is by_start_time: opt_start_time.")
    assert said == "priorityPolicy is PinnedClient. deliverPolicy is ByStartTime: startTime."
    assert spec_words("Stream", "Choose storage=file, or 3 replicas.") == "Choose storage: File, or 3 replicas."
    for kind, table in (("Stream", STREAM), ("Consumer", CONSUMER)):
        for field in table.fields:
            words = spec_words(kind, f"{field.name} {field.meaning}")
            assert field.internal or not re.search(r"[a-z]_[a-z]", words), words
