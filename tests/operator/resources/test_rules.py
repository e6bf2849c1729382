"""Every rule about a spec, kept by one manifest and broken by another: an API server and the models say the same."""

from types import ModuleType
from typing import Any

import pytest
import yaml

from penstock_operator.resources import KINDS, Kind
from tests.operator.resources import connection_rows, consumer_rows, queue_group_rows, stream_rows
from tests.operator.resources.judging import Judge, refusal, sentence_that_begins, sentences
from tests.testbed.kubernetes.access import Namespace

Json = dict[str, Any]
CONNECTION, STREAM, CONSUMER, QUEUE_GROUP = KINDS
ROWS: dict[str, ModuleType] = {
    CONNECTION.name: connection_rows,
    STREAM.name: stream_rows,
    CONSUMER.name: consumer_rows,
    QUEUE_GROUP.name: queue_group_rows,
}
ON_SERVER: dict[str, ModuleType] = {kind.name: ROWS[kind.name] for kind in (STREAM, CONSUMER)}
"""Kinds with rules about changes."""
OF_OTHERS = sentences(CONNECTION)
"""Sentences about parts that other kinds have as well."""
RECREATE = {"management": {"immutableChange": "Recreate"}}
DEFAULTS: dict[str, Json] = yaml.safe_load("""
Connection:
  allowedNamespaces: {from: Same}
  local: {server: Named, port: 4222}
  auth: {userPasswordSecretRef: {name: nats-user, usernameKey: username, passwordKey: password}}
Stream:
  management: &management {deletion: Retain, drift: Correct, immutableChange: Reject, policy: Manage}
  persistMode: Default
  replicas: 1
  retention: Limits
  storage: File
  discard: Old
  compression: None
Consumer:
  management: *management
  ackPolicy: Explicit
  ackWait: 30s
  deliverPolicy: All
  replayPolicy: Instant
  priorityPolicy: None
QueueGroup:
  spark: {master: "local[*]"}
  batch: {maxMessages: 100000, maxBytes: 32Mi, maxWait: 200ms, inFlight: 2, deadline: 10m}
  ordering: {mode: None}
  retry: {maxAttempts: 5, initialDelay: 1s, maxDelay: 4m}
  scaling:
    {mode: Internal, minReplicas: 0, maxReplicas: 20, targetDrain: 30s, idle: 5m, stabilization: {up: 0s, down: 2m}}
  suspend: false
""")
"""What the API server sets in a smallest spec; of kinds on NATS servers, all that is not false."""


def whole(kind: Kind, fields: Json) -> Json:
    """Return the smallest spec with the fields of a row."""
    return {**ROWS[kind.name].SMALLEST, **fields}


def changes(kind: Kind, row: str) -> tuple[str, Json, Json, Json]:
    """Return the name of an object of the row's own, its spec, a change that is allowed, and one that is not."""
    table = ON_SERVER[kind.name].CHANGES
    before, allowed, forbidden = (whole(kind, fields) for fields in table[row])
    return f"change-{list(table).index(row)}", before, allowed, forbidden


every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
on_server = pytest.mark.parametrize("kind", [STREAM, CONSUMER], ids=lambda kind: kind.name)


@every_kind
def test_api_server_and_models_judge_each_spec_alike(judge: Judge, kind: Kind, subtests: pytest.Subtests) -> None:
    rows = ROWS[kind.name]
    for name, fields in rows.ACCEPTED.items():
        with subtests.test(accepted=name):
            judge.accepts(kind, whole(kind, fields))
    for rule, specs in rows.BROKEN.items():
        for fields in specs:
            with subtests.test(broken=rule, fields=fields):
                judge.refuses(kind, whole(kind, fields), sentence_that_begins(kind, rule))
    for name, fields in rows.REFUSED.items():
        with subtests.test(refused=name):
            judge.refuses(kind, whole(kind, fields))


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
    shown = {sentence_that_begins(kind, rule) for rule in ROWS[kind.name].BROKEN}
    shared = OF_OTHERS if kind.name in ON_SERVER else set()
    assert shown | shared == sentences(kind) - of_changes | shared
    beginnings = ON_SERVER[kind.name].CHANGES if kind.name in ON_SERVER else {}
    named = of_changes | {rule.sentence for rule in kind.change_rules}
    assert {next(row for row in beginnings if sentence.startswith(row)) for sentence in named} == set(beginnings)


@every_kind
def test_defaults_are_visible_in_what_is_kept(judge: Judge, kind: Kind) -> None:
    spec = whole(kind, connection_rows.ACCEPTED["a user and a password"] if kind is CONNECTION else {})
    kept = judge.kept(kind, spec)
    shown = {name: value for name, value in kept.items() if kind.name not in ON_SERVER or value is not False}
    assert shown == {**spec, **DEFAULTS[kind.name]}
