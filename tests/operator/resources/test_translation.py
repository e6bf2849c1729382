"""Translation between a spec and the server's configuration: no field is missing or lost, and the words are ours."""

import re
from collections.abc import Iterator
from typing import Any

import pydantic
import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from penstock_jetstream.config import CONSUMER, STREAM, Field, Severity, Unchanged, plan_update, validate, values
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


def test_every_field_of_the_server_can_be_declared() -> None:
    absent = {*missing(StreamSpec, STREAM.fields, "stream"), *missing(ConsumerSpec, CONSUMER.fields, "consumer")}
    assert absent == set(NOT_OURS)


def test_every_choice_of_the_server_is_one_of_ours_and_back() -> None:
    for part, table in ((StreamSpec, STREAM), (ConsumerSpec, CONSUMER)):
        for each in counterparts(part, table.fields):
            if isinstance(each.server.type, values.Choice):
                words = [from_server(each, name) for name in each.server.type.names]
                members = [value for kind in each.types for value in getattr(kind, "__members__", {}).values()]
                assert sorted(words) == sorted(members)
                assert [to_server(each, word) for word in words] == list(each.server.type.names)


def accepted(rows: Any) -> list[Json]:  # noqa: ANN401 - a module
    """Return the fields of all rows that are accepted, and can be combined with others."""
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
def test_stream_spec_survives_translation_both_ways(spec: StreamSpec) -> None:
    config = stream_config(spec, "ORDERS")
    again = StreamSpec.read({**stream_rows.SMALLEST, **stream_spec(config)})
    assert plan_update(STREAM, stream_config(again, "unused"), config) == Unchanged()
    assert stream_spec(stream_config(again, "unused")) == stream_spec(config)


@given(specs(ConsumerSpec, consumer_rows))
def test_consumer_spec_survives_translation_both_ways(spec: ConsumerSpec) -> None:
    config = consumer_config(spec, "etl")
    again = ConsumerSpec.read({**consumer_rows.SMALLEST, **consumer_spec(config)})
    assert plan_update(CONSUMER, consumer_config(again, "unused"), config) == Unchanged()
    assert consumer_spec(consumer_config(again, "unused")) == consumer_spec(config)


def test_client_library_accepts_what_the_rules_accept(subtests: pytest.Subtests) -> None:
    for rows, table in ((stream_rows, STREAM), (consumer_rows, CONSUMER)):
        for rule, (fields, _) in rows.RULES.items():
            with subtests.test(rule):
                spec = {**rows.SMALLEST, **fields}
                if table is STREAM:
                    config = stream_config(StreamSpec.read(spec), "ORDERS")
                else:
                    config = consumer_config(ConsumerSpec.read(spec), "c")
                assert [each for each in validate(table, config) if each.severity is Severity.ERROR] == []


def of_consumer(**fields: object) -> Json:
    """Return the configuration of the Consumer etl with these fields."""
    return consumer_config(ConsumerSpec.read({**consumer_rows.SMALLEST, **fields}), "etl")


def test_configuration_has_what_the_spec_sets_and_our_defaults() -> None:
    assert stream_config(StreamSpec.read(stream_rows.SMALLEST), "orders") == {"name": "orders"}
    etl = {"durable_name": "etl", "name": "etl", "ack_policy": "explicit"}
    waiting, several = {**etl, "ack_wait": 30 * SECOND}, ["orders.new", "orders.old"]
    assert of_consumer() == of_consumer(filterSubjects=[]) == waiting
    assert of_consumer(filterSubjects=["orders.new"]) == {**waiting, "filter_subject": "orders.new"}, (
        "seen by permissions"
    )
    assert of_consumer(filterSubjects=several) == {**waiting, "filter_subjects": several}
    assert of_consumer(backoff=["1s", "1m"]) == {**etl, "backoff": [SECOND, 60 * SECOND]}, "instead of ackWait"
    other = {"durable_name": "other", "name": "other", "ack_policy": "none"}
    assert of_consumer(ackPolicy="None", name="other") == other


def test_fields_that_a_server_adds_are_not_imported_and_choices_of_a_newer_server_are_in_our_spelling() -> None:
    answered = {
        "name": "ORDERS",
        "subjects": ["ORDERS"],
        "duplicate_window": 120 * SECOND,
        "max_msgs": -1,
        "num_replicas": 1,
        "metadata": {"_nats.ver": "2.15.1", "team": "checkout"},
    }
    assert stream_spec(answered) == {"name": "ORDERS", "metadata": {"team": "checkout"}}
    assert stream_spec({"name": "ORDERS", "retention": "until_midnight"})["retention"] == "UntilMidnight"


FIELDS = {
    ("Stream", "max_msgs_per_subject"): "maxMessagesPerSubject",
    ("Stream", "sources[0].filter_subject"): "sources[0].filterSubject",
    ("Stream", "sources[1].subject_transforms[0].dest"): "sources[1].subjectTransforms[0].destination",
    ("Consumer", "filter_subject"): "filterSubjects",
    ("Consumer", "name"): "name",
    ("Consumer", "num_replicas"): "replicas",
    ("Stream", "metadata._nats.x"): "metadata._nats.x",
    ("Stream", "of_a_newer_server"): "of_a_newer_server",
}
VALUES: list[tuple[str, str, object, str]] = [
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
]


def test_fields_and_values_are_spelt_as_in_manifests(subtests: pytest.Subtests) -> None:
    for (kind, theirs), ours in FIELDS.items():
        with subtests.test(kind=kind, field=theirs):
            assert spec_field(kind, theirs) == ours
    for kind, field, value, shown in VALUES:
        with subtests.test(kind=kind, field=field, value=value):
            assert spec_value(kind, field, value) == shown


def test_sentences_about_configurations_use_our_spelling() -> None:
    said = spec_words("Consumer", "priority_policy is pinned_client. deliver_policy is by_start_time: opt_start_time.")
    assert said == "priorityPolicy is PinnedClient. deliverPolicy is ByStartTime: startTime."
    assert spec_words("Stream", "Choose storage=file, or 3 replicas.") == "Choose storage: File, or 3 replicas."
    for kind, table in (("Stream", STREAM), ("Consumer", CONSUMER)):
        for field in table.fields:
            words = spec_words(kind, f"{field.name} {field.meaning}")
            assert field.internal or not re.search(r"[a-z]_[a-z]", words), words
