"""Prometheus metrics: everything that is counted, and nothing about objects from a standby replica."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock_jetstream.errors import ErrorCode
from penstock_operator.plan.connections import Connected, Connecting, LinkState
from penstock_operator.plan.decision import Create
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.surroundings import Place
from penstock_operator.services.counting import CountedLink
from penstock_operator.services.leading import Leadership
from penstock_operator.services.metrics import Metrics, Outcome
from tests.operator.links.linking import keeping, spec_of
from tests.operator.plan import builders
from tests.testbed.nats.server import NatsServer

Labels = Mapping[str, str]


class AtWork:
    """A reconciler as metrics see it: objects wait, and one is being reconciled."""

    depth = 3
    oldest_work = (Identity("Stream", "a", "orders"), 100.0)

    def __init__(self, *declared: Declared, links: Mapping[str, LinkState] | None = None) -> None:
        self.declared: Sequence[Declared] = declared
        self._links = links or {}

    def link_state(self, connection: Identity) -> LinkState:
        return self._links[connection.name]


def declared(kind: str, name: str, ready: str | None = None, **facts: Any) -> Declared:  # noqa: ANN401 - JSON
    conditions = [{"type": "Drifted", "status": "False"}, {"type": "Ready", "status": ready}] if ready else []
    return builders.declared(kind, name, {}, namespace="a", status={"conditions": conditions, **facts})


def samples(metrics: Metrics, name: str) -> list[tuple[Labels, float]]:
    families = text_string_to_metric_families(metrics.shown().decode())
    return [(sample.labels, sample.value) for family in families for sample in family.samples if sample.name == name]


def watching(work: AtWork, leadership: Leadership | None = None) -> Metrics:
    metrics = Metrics()
    metrics.watch(work, leadership or Leadership.alone(), lambda: 107.0)
    return metrics


def test_reconciles_are_counted_and_timed_by_kind() -> None:
    metrics = Metrics()
    metrics.reconciled("Stream", Outcome.DONE, 0.02)
    metrics.reconciled("Stream", Outcome.FAILED, 3)
    assert samples(metrics, "penstock_reconcile_total") == [
        ({"kind": "Stream", "outcome": "done"}, 1),
        ({"kind": "Stream", "outcome": "failed"}, 1),
    ]
    buckets = {labels["le"]: value for labels, value in samples(metrics, "penstock_reconcile_seconds_bucket")}
    assert (buckets["0.01"], buckets["0.025"], buckets["2.5"], buckets["5.0"], buckets["+Inf"]) == (0, 1, 1, 2, 2)


def test_requests_are_counted_by_outcome_in_each_operator_by_itself() -> None:
    metrics, other = Metrics(), Metrics()
    metrics.asked_kubernetes("PATCH", "409")
    metrics.asked_nats("create", "Refused")
    assert samples(metrics, "penstock_kubernetes_requests_total") == [({"method": "PATCH", "code": "409"}, 1)]
    assert samples(metrics, "penstock_nats_requests_total") == [({"operation": "create", "outcome": "Refused"}, 1)]
    assert samples(other, "penstock_nats_requests_total") == []


async def test_refusals_of_a_server_are_counted_by_error_code(nats_server: NatsServer) -> None:
    metrics = Metrics()
    async with keeping() as kept:
        kept.keep(spec_of(nats_server.url))
        link = CountedLink(await kept.connected(), metrics)
        for name in ("ORDERS", "BILLS"):
            await link.carry_out(Place(link.account, name), Create({"name": name, "subjects": ["orders.>"]}))
    overlap = str(ErrorCode.STREAM_SUBJECT_OVERLAP.value)
    refused = {"operation": "create", "err_code": overlap}
    assert samples(metrics, "penstock_nats_refusals_total") == [(refused, 1)]


BAD: Any = {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Drifted", "status": "True"}]}
LAG = {"pending": 5, "ackPending": 2, "streamName": "ORDERS", "consumerName": "etl-1"}
LOSS = {
    **dict.fromkeys(("deliveredSequence", "deliveries", "pending", "givenUp"), 0),
    "incarnation": "once",
    "server": "A",
    "takesAll": True,
    "limits": "",
    "expired": 7,
    "skipped": 7,
    "knownGaps": 0,
}
WORKERS = {"messageLoss": LOSS, "replicas": 2, "readyReplicas": 1, "desiredReplicas": 3, "busyReplicas": 0}
OBJECTS = (
    *(declared("Stream", "a", "True"), declared("Stream", "b", "True"), declared("Stream", "c", **BAD)),
    *(declared("Consumer", "etl", "True", **LAG), declared("Consumer", "new")),
    *(declared("QueueGroup", "etl", "True", **WORKERS), declared("QueueGroup", "new")),
    *(declared("Connection", "good"), declared("Connection", "bad")),
)
ETL = {"namespace": "a", "name": "etl"}
OF_CONSUMER = {**ETL, "stream": "ORDERS", "consumer": "etl-1"}
OF_OBJECTS: dict[str, list[tuple[Labels, float]]] = {
    "penstock_objects": [
        ({"kind": "Connection", "ready": "Unknown"}, 2),
        ({"kind": "Consumer", "ready": "True"}, 1),
        ({"kind": "Consumer", "ready": "Unknown"}, 1),
        ({"kind": "QueueGroup", "ready": "True"}, 1),
        ({"kind": "QueueGroup", "ready": "Unknown"}, 1),
        ({"kind": "Stream", "ready": "False"}, 1),
        ({"kind": "Stream", "ready": "True"}, 2),
    ],
    "penstock_objects_drifted": [({"kind": "Consumer"}, 0), ({"kind": "Stream"}, 1)],
    "penstock_link_up": [({"namespace": "a", "name": "good"}, 1), ({"namespace": "a", "name": "bad"}, 0)],
    "penstock_consumer_pending": [(OF_CONSUMER, 5)],
    "penstock_consumer_ack_pending": [(OF_CONSUMER, 2)],
    "penstock_queue_group_workers": [
        ({**ETL, "state": state}, number)
        for state, number in (("desired", 3), ("actual", 2), ("ready", 1), ("busy", 0))
    ],
    "penstock_queue_group_lost_messages": [
        ({**ETL, "cause": "expired"}, 7),
        ({**ETL, "cause": "given-up"}, 0),
    ],
    "penstock_queue_group_ready": [({**ETL, "reason": ""}, 1), ({**ETL, "name": "new", "reason": ""}, 0)],
}


def test_what_is_known_of_objects_is_reported_and_nothing_else(subtests: pytest.Subtests) -> None:
    metrics = watching(AtWork(*OBJECTS, links={"good": Connected("account"), "bad": Connecting()}))
    for name, expected in OF_OBJECTS.items():
        with subtests.test(name):
            assert samples(metrics, name) == expected


def test_queue_is_reported_by_all_replicas_and_objects_only_by_the_leader() -> None:
    """Otherwise each object would be counted by every replica."""
    leader = watching(AtWork())
    assert samples(leader, "penstock_queue_depth") == [({}, 3)]
    assert samples(leader, "penstock_work_oldest_seconds") == [({}, 7)]
    assert samples(leader, "penstock_leader") == [({}, 1)]
    standby = watching(AtWork(declared("Stream", "a", "True")), Leadership(lambda: 0.0))
    assert samples(standby, "penstock_leader") == [({}, 0)]
    assert samples(standby, "penstock_queue_depth")
    for name in ("penstock_objects", "penstock_objects_drifted", "penstock_link_up", "penstock_consumer_pending"):
        assert f"# TYPE {name} " not in standby.shown().decode()
