"""How a Consumer, its Stream, its neighbours and its QueueGroups go together: what works, and surprises."""

from typing import Any

import pytest

from penstock_operator.plan.declared import Declared
from penstock_operator.plan.warnings import warnings_across
from tests.operator.plan.builders import consumer, declared, stream

WORK_QUEUE = stream(spec={"retention": "WorkQueue"})
INTEREST = stream(spec={"retention": "Interest"})


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


WARNED: dict[str, tuple[Declared, Declared, list[Declared], list[Declared], str]] = {
    "an ack wait in which nothing is done": (
        consumer(spec={"ackWait": "1ms"}),
        stream(),
        [],
        [],
        "ackWait: Within 1ms",
    ),
    "a work queue keeps what was delivered in vain": (
        consumer(spec={"maxDeliver": 5}),
        WORK_QUEUE,
        [],
        [],
        "maxDeliver: What was delivered 5 times in vain stays in the stream for ever",
    ),
    "so does a stream that keeps what somebody wants": (
        consumer(spec={"maxDeliver": 5}),
        INTEREST,
        [],
        [],
        "retention is Interest",
    ),
    "two consumers of a work queue want the same": (
        filtered("etl", "orders.eu"),
        WORK_QUEUE,
        [filtered("audit", "orders.*")],
        [],
        "'orders.eu' overlaps with 'orders.*' of Consumer shop/audit",
    ),
    "two consumers of a work queue want all": (
        filtered("etl"),
        WORK_QUEUE,
        [filtered("audit")],
        [],
        "'>' overlaps with '>' of Consumer shop/audit",
    ),
    "a queue group wants more than may be under way": (
        consumer(spec={"maxAckPending": 1499}),
        stream(),
        [],
        [group()],
        "maxAckPending: 1499 messages may be under way, and QueueGroup shop/etl may want 1500",
    ),
    "a queue group of many workers pulls more than may wait": (
        consumer(spec={"maxWaiting": 14}),
        stream(),
        [],
        [group()],
        "maxWaiting: 14 pull requests may wait, and the 5 workers of QueueGroup shop/etl may need 15",
    ),
    "a dead worker's messages come back late": (
        consumer(spec={"ackWait": "20m"}),
        stream(),
        [],
        [group()],
        "come back only after 20m, though a batch takes no longer than 10m",
    ),
}


@pytest.mark.parametrize(("object_", "its_stream", "neighbours", "groups", "sentence"), WARNED.values(), ids=WARNED)
def test_what_surprises_is_told_before_it_does(
    object_: Declared, its_stream: Declared, neighbours: list[Declared], groups: list[Declared], sentence: str
) -> None:
    assert any(sentence in warning for warning in warnings_across(object_, its_stream, neighbours, groups))


QUIET: dict[str, tuple[Declared, Declared | None, list[Declared], list[Declared]]] = {
    "the smallest": (consumer(), None, [], []),
    "it is its own neighbour": (filtered("etl"), WORK_QUEUE, [filtered("etl")], []),
    "neighbours that want something else": (
        filtered("etl", "orders.eu"),
        WORK_QUEUE,
        [filtered("audit", "orders.us")],
        [],
    ),
    "neighbours outside of work queues": (filtered("etl"), stream(), [filtered("audit")], []),
    "a group that fits": (consumer(spec={"maxAckPending": 1500, "maxWaiting": 15}), stream(), [], [group()]),
    "a group without bounds": (consumer(spec={"maxAckPending": -1}), stream(), [], [group()]),
    "a group that others scale": (
        consumer(spec={"maxAckPending": 600}),
        stream(),
        [],
        [group(scaling={"mode": "External"}, replicas=2)],
    ),
    "a group that cannot be understood": (consumer(), stream(), [], [group(batch={"maxMessages": 0})]),
}


@pytest.mark.parametrize(("object_", "its_stream", "neighbours", "groups"), QUIET.values(), ids=QUIET)
def test_what_goes_together_is_not_warned_of(
    object_: Declared, its_stream: Declared | None, neighbours: list[Declared], groups: list[Declared]
) -> None:
    assert warnings_across(object_, its_stream, neighbours, groups) == ()
