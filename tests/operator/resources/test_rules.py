"""Streams and Consumers: every rule in words, kept by one manifest and broken by another.

An API server and the models judge alike, and say the same. A table of rows stands beside for each kind.
"""

import re
from types import ModuleType
from typing import Any

import pydantic
import pytest

from penstock_operator.resources import CONSUMER, KINDS, STREAM, Kind
from tests.operator.resources import consumer_rows, stream_rows
from tests.operator.resources.judge import Judge, RefusedError
from tests.operator.resources.judging import sentences

Json = dict[str, Any]
ROWS: dict[str, ModuleType] = {STREAM.name: stream_rows, CONSUMER.name: consumer_rows}
BY_NAME = {kind.name: kind for kind in KINDS}
OF_OTHERS = sentences(BY_NAME["Connection"])
"""What is said about parts that other kinds have as well, which their own tests show."""


def rows(table: str) -> pytest.MarkDecorator:
    names = [(name, row) for name, module in ROWS.items() for row in getattr(module, table)]
    return pytest.mark.parametrize(
        ("kind", "row"), [pytest.param(BY_NAME[n], row, id=f"{n}-{row}") for n, row in names]
    )


every_kind = pytest.mark.parametrize("kind", [BY_NAME[name] for name in ROWS], ids=list(ROWS))


def whole(kind: Kind, fields: Json) -> Json:
    together = {**ROWS[kind.name].SMALLEST, **fields}
    return {name: value for name, value in together.items() if value is not None}


def rule_rows(kind: Kind) -> dict[str, tuple[Json, Json]]:
    rules: dict[str, tuple[Json, Json]] = ROWS[kind.name].RULES
    return rules


@rows("RULES")
def test_what_keeps_a_rule_is_accepted_everywhere(judge: Judge, kind: Kind, row: str) -> None:
    spec = whole(kind, rule_rows(kind)[row][0])
    assert kind.spec.read(judge.kept(kind, spec)) == kind.spec.read(spec)


@rows("RULES")
def test_what_breaks_a_rule_is_refused_in_the_same_words_everywhere(judge: Judge, kind: Kind, row: str) -> None:
    spec = whole(kind, rule_rows(kind)[row][1])
    with pytest.raises(RefusedError, match=re.escape(row)):
        judge.kept(kind, spec)
    with pytest.raises(pydantic.ValidationError, match=re.escape(row)):
        kind.spec.read(spec)


@rows("REFUSED")
def test_what_a_field_cannot_hold_is_refused_everywhere(judge: Judge, kind: Kind, row: str) -> None:
    spec = whole(kind, ROWS[kind.name].REFUSED[row])
    with pytest.raises(RefusedError):
        judge.kept(kind, spec)
    with pytest.raises(pydantic.ValidationError):
        kind.spec.read(spec)


def changes(kind: Kind, row: str) -> tuple[str, Json, Json, Json]:
    """Return the name of an object of the row's own, what is there, a change that is fine, and one that is not."""
    table = ROWS[kind.name].CHANGES
    there, allowed, forbidden = (whole(kind, fields) for fields in table[row])
    return f"change-{list(table).index(row)}", there, allowed, forbidden


@rows("CHANGES")
def test_a_change_that_the_server_cannot_make_is_refused_in_the_same_words_everywhere(
    judge: Judge, kind: Kind, row: str
) -> None:
    name, there, allowed, forbidden = changes(kind, row)
    judge.create(kind, there, name)
    judge.kept_after_change(kind, allowed, name)
    with pytest.raises(RefusedError, match=re.escape(row)):
        judge.kept_after_change(kind, forbidden, name)
    if row not in ROWS[kind.name].FOR_GOOD:
        judge.kept_after_change(kind, {**forbidden, "management": {"immutableChange": "Recreate"}}, name)


@rows("CHANGES")
def test_a_laptop_finds_such_a_change_as_well(kind: Kind, row: str) -> None:
    name, *specs = changes(kind, row)
    old, allowed, forbidden = map(kind.spec.read, specs)
    recreated = kind.spec.read({**specs[-1], "management": {"immutableChange": "Recreate"}})
    assert kind.faults_after(name, allowed, old) == []
    [sentence] = kind.faults_after(name, forbidden, old)
    assert sentence.startswith(row)
    assert kind.faults_after(name, recreated, old) == ([sentence] if row in ROWS[kind.name].FOR_GOOD else [])


@every_kind
def test_a_name_with_a_dot_is_refused_unless_the_spec_gives_another(judge: Judge, kind: Kind) -> None:
    spec, named = whole(kind, {}), whole(kind, {"name": "ORDERS"})
    with pytest.raises(RefusedError, match=r"metadata.name has a dot"):
        judge.kept(kind, spec, "orders.v1")
    judge.kept(kind, named, "orders.v1")
    assert kind.faults("orders.v1", kind.spec.read(spec)) != []
    assert kind.faults("orders.v1", kind.spec.read(named)) == []


@every_kind
def test_every_rule_has_its_row(kind: Kind) -> None:
    of_changes = {rule.sentence for rule in kind.spec.CHANGE_RULES}
    assert set(rule_rows(kind)) | OF_OTHERS == sentences(kind) - of_changes | OF_OTHERS
    beginnings = ROWS[kind.name].CHANGES
    named = of_changes | {rule.sentence for rule in kind.change_rules}
    assert {next(row for row in beginnings if sentence.startswith(row)) for sentence in named} == set(beginnings)


def test_the_defaults_of_a_stream_are_visible_and_safe(judge: Judge) -> None:
    kept = judge.kept(STREAM, {"connectionRef": {"name": "nats"}})
    management = {"deletion": "Retain", "drift": "Correct", "immutableChange": "Reject", "policy": "Manage"}
    choices = {"retention": "Limits", "storage": "File", "discard": "Old", "compression": "None"}
    assert {name: value for name, value in kept.items() if value is not False} == {
        "connectionRef": {"name": "nats"},
        "management": management,
        "persistMode": "Default",
        "replicas": 1,
        **choices,
    }


def test_the_defaults_of_a_consumer_are_visible_and_safe(judge: Judge) -> None:
    kept = judge.kept(CONSUMER, {"streamRef": {"name": "orders"}})
    management = {"deletion": "Retain", "drift": "Correct", "immutableChange": "Reject", "policy": "Manage"}
    assert {name: value for name, value in kept.items() if value is not False} == {
        "streamRef": {"name": "orders"},
        "management": management,
        "ackPolicy": "Explicit",
        "ackWait": "30s",
        "deliverPolicy": "All",
        "replayPolicy": "Instant",
        "priorityPolicy": "None",
    }
