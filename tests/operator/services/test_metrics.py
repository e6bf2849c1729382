"""What is told to Prometheus: everything that is counted, and nothing about objects by a replica that stands by."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

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
from tests.testbed.nats.server import NatsServer

Labels = Mapping[str, str]


class AtWork:
    """A reconciler as metrics see it: something waits, something is worked on."""

    depth = 3
    oldest_work = (Identity("Stream", "a", "orders"), 100.0)

    def __init__(self, *declared: Declared, links: Mapping[str, LinkState] | None = None) -> None:
        self.declared: Sequence[Declared] = declared
        self._links = links or {}

    def link_state(self, connection: Identity) -> LinkState:
        return self._links[connection.name]


def declared(kind: str, name: str, ready: str | None = None, **facts: Any) -> Declared:  # noqa: ANN401 - JSON
    conditions = [{"type": "Drifted", "status": "False"}, {"type": "Ready", "status": ready}] if ready else []
    return Declared(
        identity=Identity(kind, "a", name),
        uid=name,
        generation=1,
        created_at=datetime.now(UTC),
        spec=None,
        annotations={},
        status={"conditions": conditions, **facts},
    )


def samples(metrics: Metrics, name: str) -> list[tuple[Labels, float]]:
    families = text_string_to_metric_families(metrics.shown().decode())
    return [(sample.labels, sample.value) for family in families for sample in family.samples if sample.name == name]


def names(metrics: Metrics) -> Iterable[str]:
    return {family.name for family in text_string_to_metric_families(metrics.shown().decode())}


def watching(work: AtWork, leadership: Leadership | None = None) -> Metrics:
    metrics = Metrics()
    metrics.watch(work, leadership or Leadership.alone(), lambda: 107.0)
    return metrics


def test_looks_at_objects_are_counted_and_timed_by_kind() -> None:
    metrics = Metrics()
    metrics.reconciled("Stream", Outcome.DONE, 0.02)
    metrics.reconciled("Stream", Outcome.FAILED, 3)
    assert samples(metrics, "penstock_reconcile_total") == [
        ({"kind": "Stream", "outcome": "done"}, 1),
        ({"kind": "Stream", "outcome": "failed"}, 1),
    ]
    buckets = {labels["le"]: value for labels, value in samples(metrics, "penstock_reconcile_seconds_bucket")}
    assert (buckets["0.01"], buckets["0.025"], buckets["2.5"], buckets["5.0"], buckets["+Inf"]) == (0, 1, 1, 2, 2)


def test_requests_are_counted_by_what_came_of_them() -> None:
    metrics = Metrics()
    metrics.asked_kubernetes("PATCH", "409")
    metrics.asked_nats("create", "Refused")
    assert samples(metrics, "penstock_kubernetes_requests_total") == [({"method": "PATCH", "code": "409"}, 1)]
    assert samples(metrics, "penstock_nats_requests_total") == [({"operation": "create", "outcome": "Refused"}, 1)]


async def test_what_a_server_refuses_is_counted_by_its_own_code(nats_server: NatsServer) -> None:
    metrics = Metrics()
    async with keeping() as kept:
        kept.keep(spec_of(nats_server.url))
        link = CountedLink(await kept.connected(), metrics)
        for name in ("ORDERS", "BILLS"):
            await link.carry_out(Place(link.account, name), Create({"name": name, "subjects": ["orders.>"]}))
    overlap = str(ErrorCode.STREAM_SUBJECT_OVERLAP.value)
    refused = {"operation": "create", "err_code": overlap}
    assert samples(metrics, "penstock_nats_refusals_total") == [(refused, 1)]


def test_what_waits_is_told() -> None:
    metrics = watching(AtWork())
    assert samples(metrics, "penstock_queue_depth") == [({}, 3)]
    assert samples(metrics, "penstock_work_oldest_seconds") == [({}, 7)]
    assert samples(metrics, "penstock_leader") == [({}, 1)]


def test_objects_are_counted_by_kind_and_by_their_condition_ready() -> None:
    streams = [declared("Stream", "a", "True"), declared("Stream", "b", "True"), declared("Stream", "c", "False")]
    assert samples(watching(AtWork(*streams, declared("Consumer", "d"))), "penstock_objects") == [
        ({"kind": "Consumer", "ready": "Unknown"}, 1),
        ({"kind": "Stream", "ready": "False"}, 1),
        ({"kind": "Stream", "ready": "True"}, 2),
    ]


def test_what_has_drifted_is_counted_by_kind_also_where_it_is_nothing() -> None:
    drifted: dict[str, Any] = {
        "conditions": [{"type": "Ready", "status": "False"}, {"type": "Drifted", "status": "True"}]
    }
    metrics = watching(AtWork(declared("Stream", "a", "True"), declared("Stream", "b", **drifted)))
    assert samples(metrics, "penstock_objects_drifted") == [({"kind": "Consumer"}, 0), ({"kind": "Stream"}, 1)]


def test_links_are_told_by_connection() -> None:
    connections = [declared("Connection", "good"), declared("Connection", "bad")]
    metrics = watching(AtWork(*connections, links={"good": Connected("account"), "bad": Connecting()}))
    assert samples(metrics, "penstock_link_up") == [
        ({"namespace": "a", "name": "good"}, 1),
        ({"namespace": "a", "name": "bad"}, 0),
    ]


def test_the_lag_is_told_by_consumer_once_it_is_known() -> None:
    known = declared("Consumer", "etl", "True", pending=5, ackPending=2, streamName="ORDERS", consumerName="etl-1")
    metrics = watching(AtWork(known, declared("Consumer", "new")))
    labels = {"namespace": "a", "name": "etl", "stream": "ORDERS", "consumer": "etl-1"}
    assert samples(metrics, "penstock_consumer_pending") == [(labels, 5)]
    assert samples(metrics, "penstock_consumer_ack_pending") == [(labels, 2)]


def test_a_replica_that_stands_by_tells_of_itself_only() -> None:
    """Else each object would be counted by every replica."""
    metrics = watching(AtWork(declared("Stream", "a", "True")), Leadership(lambda: 0.0))
    assert samples(metrics, "penstock_leader") == [({}, 0)]
    assert "penstock_queue_depth" in names(metrics)
    of_objects = {"penstock_objects", "penstock_objects_drifted", "penstock_link_up", "penstock_consumer_pending"}
    assert not of_objects & set(names(metrics))


def test_two_operators_in_one_process_do_not_count_for_each_other() -> None:
    first, second = Metrics(), Metrics()
    first.asked_nats("observe", "ok")
    assert samples(second, "penstock_nats_requests_total") == []


def test_a_group_tells_how_many_workers_it_has_and_is_to_have_and_whether_it_works() -> None:
    group = declared("QueueGroup", "etl", "True", replicas=2, readyReplicas=1, desiredReplicas=3, busyReplicas=0)
    metrics = watching(AtWork(group))
    told = {labels["state"]: value for labels, value in samples(metrics, "penstock_queue_group_workers")}
    assert told == {"desired": 3, "actual": 2, "ready": 1, "busy": 0}
    assert samples(metrics, "penstock_queue_group_ready") == [({"namespace": "a", "name": "etl", "reason": ""}, 1)]


def test_a_group_that_nobody_has_looked_at_has_no_numbers_and_is_not_ready() -> None:
    metrics = watching(AtWork(declared("QueueGroup", "etl")))
    assert samples(metrics, "penstock_queue_group_workers") == []
    assert [value for _, value in samples(metrics, "penstock_queue_group_ready")] == [0]
