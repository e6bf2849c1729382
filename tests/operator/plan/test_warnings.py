"""How a Consumer, its Stream, its neighbours and its QueueGroups fit together: what works, but may surprise."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from penstock_operator.plan.declared import Declared
from penstock_operator.plan.warnings import overlapping_streams, subjects_of, warnings_across
from tests.operator.plan.builders import consumer, declared, stream

ORDERS = stream()
WORK_QUEUE = stream(spec={"retention": "WorkQueue"})


def group(**spec: Any) -> Declared:  # noqa: ANN401 - parts of a manifest
    whole = {
        "consumerRef": {"name": "etl"},
        "handler": {"entrypoint": "etl:process", "image": "example/etl:1"},
        "batch": {"maxMessages": 100, "inFlight": 2},
        "scaling": {"maxReplicas": 5},
    }
    return declared("QueueGroup", "etl", {**whole, **spec})


def filtered(name: str, *subjects: str) -> Declared:
    return consumer(spec={"filterSubjects": list(subjects)} if subjects else {}, name=name)


class Case(NamedTuple):
    consumer: Declared
    stream: Declared | None = ORDERS
    neighbours: Sequence[Declared] = ()
    groups: Sequence[Declared] = ()


WARNED = {
    "ackWait: Within 1ms": Case(consumer(spec={"ackWait": "1ms"})),
    "maxDeliver: What was delivered 5 times in vain stays in the stream for ever": Case(
        consumer(spec={"maxDeliver": 5}), WORK_QUEUE
    ),
    "retention is Interest": Case(consumer(spec={"maxDeliver": 5}), stream(spec={"retention": "Interest"})),
    "'orders.eu' overlaps with 'orders.*' of Consumer shop/audit": Case(
        filtered("etl", "orders.eu"), WORK_QUEUE, [filtered("audit", "orders.*")]
    ),
    "'>' overlaps with '>' of Consumer shop/audit": Case(filtered("etl"), WORK_QUEUE, [filtered("audit")]),
    "maxAckPending: 1499 messages may be under way, and QueueGroup shop/etl may want 1500": Case(
        consumer(spec={"maxAckPending": 1499}), groups=[group()]
    ),
    "maxWaiting: 14 pull requests may wait, and QueueGroup shop/etl may need 15": Case(
        consumer(spec={"maxWaiting": 14}), groups=[group()]
    ),
    "come back only after 20m, though a batch takes no longer than 10m": Case(
        consumer(spec={"ackWait": "20m"}), groups=[group()]
    ),
}
QUIET = {
    "the smallest": Case(consumer(), None),
    "its own neighbour": Case(filtered("etl"), WORK_QUEUE, [filtered("etl")]),
    "neighbours with another filter": Case(filtered("etl", "orders.eu"), WORK_QUEUE, [filtered("audit", "orders.us")]),
    "neighbours without a work queue": Case(filtered("etl"), stream(), [filtered("audit")]),
    "a group that fits": Case(consumer(spec={"maxAckPending": 1500, "maxWaiting": 15}), groups=[group()]),
    "no limit": Case(consumer(spec={"maxAckPending": -1}), groups=[group()]),
    "an external scaler": Case(
        consumer(spec={"maxAckPending": 600}), groups=[group(scaling={"mode": "External"}, replicas=2)]
    ),
    "an invalid group": Case(consumer(), groups=[group(batch={"maxMessages": 0})]),
}


def test_surprising_combinations_are_warned_of_and_no_others(subtests: pytest.Subtests) -> None:
    for sentence, case in WARNED.items():
        with subtests.test(sentence):
            assert any(sentence in warning for warning in warnings_across(*case))
    for name, case in QUIET.items():
        with subtests.test(name):
            assert warnings_across(*case) == ()


def test_streams_with_overlapping_subjects_are_named() -> None:
    declared_streams = [
        stream(spec={"name": name.upper(), "subjects": [subject]}, name=name)
        for name, subject in {"all": "orders.>", "some": "orders.*.eu", "others": "shop.*"}.items()
    ]
    subjects = {each.identity: subjects_of(each) for each in declared_streams}
    said = [overlapping_streams(each, subjects) for each in subjects]
    assert [len(sentences) for sentences in said] == [1, 1, 0]
    assert said[0][0].startswith("subjects: 'orders.>' overlaps with 'orders.*.eu' of Stream shop/some, ")
