"""Every rule about a spec, kept by one manifest and broken by another: an API server and the models say the same."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from penstock_operator.resources import KINDS, Kind
from tests.operator.resources import connection_rows, consumer_rows, queue_group_rows, stream_rows
from tests.operator.resources.judging import Judge, refusal, sentences
from tests.testbed.kubernetes.access import Namespace

Json = dict[str, Any]
CONNECTION, STREAM, CONSUMER, QUEUE_GROUP = KINDS
ON_SERVER: dict[str, ModuleType] = {STREAM.name: stream_rows, CONSUMER.name: consumer_rows}
"""Kinds with rules about changes. Rows have only the fields that differ from those of the smallest spec."""
OF_OTHERS = sentences(CONNECTION)
"""Sentences about parts that other kinds have as well."""
RECREATE = {"management": {"immutableChange": "Recreate"}}
MANAGEMENT = {"deletion": "Retain", "drift": "Correct", "immutableChange": "Reject", "policy": "Manage"}

DEFAULTS: dict[str, tuple[Json, Json]] = {
    "Connection": (
        {"servers": ["nats://nats.nats:4222"], "auth": {"userPasswordSecretRef": {"name": "user"}}},
        {
            "allowedNamespaces": {"from": "Same"},
            "local": {"server": "Named", "port": 4222},
            "auth": {"userPasswordSecretRef": {"name": "user", "usernameKey": "username", "passwordKey": "password"}},
        },
    ),
    "Stream": (
        stream_rows.SMALLEST,
        {
            "management": MANAGEMENT,
            "persistMode": "Default",
            "replicas": 1,
            "retention": "Limits",
            "storage": "File",
            "discard": "Old",
            "compression": "None",
        },
    ),
    "Consumer": (
        consumer_rows.SMALLEST,
        {
            "management": MANAGEMENT,
            "ackPolicy": "Explicit",
            "ackWait": "30s",
            "deliverPolicy": "All",
            "replayPolicy": "Instant",
            "priorityPolicy": "None",
        },
    ),
    "QueueGroup": (
        queue_group_rows.SMALLEST,
        {
            "spark": {"master": "local[*]"},
            "batch": {"maxMessages": 100_000, "maxBytes": "32Mi", "maxWait": "200ms", "inFlight": 2, "deadline": "10m"},
            "ordering": {"mode": "None"},
            "retry": {"maxAttempts": 5, "initialDelay": "1s", "maxDelay": "4m"},
            "scaling": {
                "mode": "Internal",
                "minReplicas": 0,
                "maxReplicas": 20,
                "targetDrain": "30s",
                "stabilization": {"up": "0s", "down": "2m"},
                "idle": "5m",
            },
            "suspend": False,
        },
    ),
}
"""A spec of each kind, and all that the API server sets in it; in those on NATS servers, all that is not false."""


@dataclass(frozen=True)
class Rows:
    accepted: dict[str, Json]
    broken: dict[str, tuple[Json, str]]
    refused: dict[str, Json]


def rows(kind: Kind) -> Rows:
    """Return whole specs by what they show."""
    if kind in (CONNECTION, QUEUE_GROUP):
        module = connection_rows if kind is CONNECTION else queue_group_rows
        return Rows(module.ACCEPTED, module.BROKEN, module.REFUSED)
    module = ON_SERVER[kind.name]
    return Rows(
        {rule: whole(kind, kept) for rule, (kept, _) in module.RULES.items()},
        {rule: (whole(kind, broken), rule) for rule, (_, broken) in module.RULES.items()},
        {name: whole(kind, fields) for name, fields in module.REFUSED.items()},
    )


def whole(kind: Kind, fields: Json) -> Json:
    together = {**ON_SERVER[kind.name].SMALLEST, **fields}
    return {name: value for name, value in together.items() if value is not None}


def changes(kind: Kind, row: str) -> tuple[str, Json, Json, Json]:
    """Return the name of an object of the row's own, its spec, a change that is allowed, and one that is not."""
    table = ON_SERVER[kind.name].CHANGES
    before, allowed, forbidden = (whole(kind, fields) for fields in table[row])
    return f"change-{list(table).index(row)}", before, allowed, forbidden


every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
on_server = pytest.mark.parametrize("kind", [STREAM, CONSUMER], ids=lambda kind: kind.name)


@every_kind
def test_api_server_and_models_judge_each_spec_alike(judge: Judge, kind: Kind, subtests: pytest.Subtests) -> None:
    of_kind = rows(kind)
    for name, spec in of_kind.accepted.items():
        with subtests.test(accepted=name):
            judge.accepts(kind, spec)
    for name, (spec, sentence) in of_kind.broken.items():
        with subtests.test(broken=name):
            judge.refuses(kind, spec, sentence)
    for name, spec in of_kind.refused.items():
        with subtests.test(refused=name):
            judge.refuses(kind, spec)


@on_server
def test_api_server_and_models_refuse_a_change_that_the_server_cannot_make(
    penstock_namespace: Namespace, kind: Kind, subtests: pytest.Subtests
) -> None:
    judge = Judge(penstock_namespace.client)
    for row in ON_SERVER[kind.name].CHANGES:
        with subtests.test(row):
            name, before, allowed, forbidden = changes(kind, row)
            judge.create(kind, before, name)
            judge.kept_after_change(kind, allowed, name)
            with refusal(row):
                judge.kept_after_change(kind, forbidden, name)
            is_for_good = row in ON_SERVER[kind.name].FOR_GOOD
            if not is_for_good:
                judge.kept_after_change(kind, {**forbidden, **RECREATE}, name)

            old, new, wrong, recreated = map(kind.spec.read, (before, allowed, forbidden, {**forbidden, **RECREATE}))
            assert kind.faults_after(name, new, old) == []
            [sentence] = kind.faults_after(name, wrong, old)
            assert sentence.startswith(row)
            assert kind.faults_after(name, recreated, old) == ([sentence] if is_for_good else [])


@on_server
def test_name_with_a_dot_is_refused_unless_the_spec_gives_another(judge: Judge, kind: Kind) -> None:
    spec, named = whole(kind, {}), whole(kind, {"name": "ORDERS"})
    with refusal("metadata.name has a dot"):
        judge.kept(kind, spec, "orders.v1")
    judge.kept(kind, named, "orders.v1")
    assert kind.faults("orders.v1", kind.spec.read(spec)) != []
    assert kind.faults("orders.v1", kind.spec.read(named)) == []


@every_kind
def test_every_rule_has_its_row(kind: Kind) -> None:
    of_changes = {rule.sentence for rule in kind.spec.CHANGE_RULES}
    shown = {sentence for _, sentence in rows(kind).broken.values()}
    shared = OF_OTHERS if kind.name in ON_SERVER else set()
    assert shown | shared == sentences(kind) - of_changes | shared
    beginnings = ON_SERVER[kind.name].CHANGES if kind.name in ON_SERVER else {}
    named = of_changes | {rule.sentence for rule in kind.change_rules}
    assert {next(row for row in beginnings if sentence.startswith(row)) for sentence in named} == set(beginnings)


@every_kind
def test_defaults_are_visible_in_what_is_kept(judge: Judge, kind: Kind) -> None:
    spec, defaults = DEFAULTS[kind.name]
    kept = judge.kept(kind, spec)
    shown = {name: value for name, value in kept.items() if kind.name not in ON_SERVER or value is not False}
    assert shown == {**spec, **defaults}
