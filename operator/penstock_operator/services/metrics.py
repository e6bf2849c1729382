"""What Prometheus is told of the operator: how long work takes, how it ends, what waits, what is refused, who leads.

A registry of its own, nothing global. Counters and histograms are fed as things happen; gauges are read from what is
known when somebody asks, and those about objects only while this replica leads: else each would be there twice. Only
the lag has a series for each consumer, as people scale and alert by it. Knows prometheus_client. Does not serve
(probes.py).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from typing import Any, Protocol

import prometheus_client
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from typing_extensions import override

from penstock_operator.plan.connections import Connected, LinkState
from penstock_operator.plan.decision import ConditionType
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.message_loss import written_loss
from penstock_operator.plan.verdicts import TRUE, UNKNOWN
from penstock_operator.resources import CONNECTION, CONSUMER, QUEUE_GROUP, STREAM
from penstock_operator.services.leading import Clock, Leadership

SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""From one request to a server nearby to several that take their whole deadline."""

WORKER_STATES = {
    "desired": "desiredReplicas",
    "actual": "replicas",
    "ready": "readyReplicas",
    "busy": "busyReplicas",
}
"""What is told of a group's workers, and where it stands in its status."""


class Outcome(StrEnum):
    """How a look at an object ended."""

    DONE = "done"
    FAILED = "failed"
    """The server refused, or could not be asked: it is tried again after a while."""
    HOME_FAILED = "home-failed"
    """The status, a Secret or a finalizer could not be read or written."""
    CHANGED = "changed"
    """The object was changed or deleted meanwhile."""
    NOT_LEADING = "not-leading"
    FAULT = "fault"
    """A fault of Penstock's own: it is logged, and should be reported."""


class Work(Protocol):
    """What the reconciler tells of itself."""

    @property
    def depth(self) -> int: ...

    @property
    def oldest_work(self) -> tuple[Identity, float] | None: ...

    @property
    def declared(self) -> Iterable[Declared]: ...

    def link_state(self, connection: Identity) -> LinkState: ...


class Metrics:
    """Everybody who does something that counts notes it here."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._seconds = Histogram(
            "penstock_reconcile_seconds",
            "How long one look at one object took, with all requests that it made.",
            ["kind"],
            buckets=SECONDS_BUCKETS,
            registry=self.registry,
        )
        self._reconciled = self._counter(
            "penstock_reconcile", "Looks at objects, by how they ended.", ["kind", "outcome"]
        )
        self._kubernetes = self._counter(
            "penstock_kubernetes_requests",
            "Requests to the API server, by their answer's code; `none` without an answer.",
            ["method", "code"],
        )
        self._nats = self._counter(
            "penstock_nats_requests",
            "Questions and orders to NATS servers, by what came of it: `ok`, or the reason why not.",
            ["operation", "outcome"],
        )
        self._refusals = self._counter(
            "penstock_nats_refusals",
            "What NATS servers refused, by the `err_code` that they gave.",
            ["operation", "err_code"],
        )
        prometheus_client.ProcessCollector(registry=self.registry)
        build = GaugeMetricFamily("penstock_build_info", "Which Penstock this is.", labels=["version"])
        build.add_metric([metadata.version("penstock")], 1)
        self.registry.register(Read(lambda: [build]))

    def reconciled(self, kind: str, outcome: Outcome, seconds: float) -> None:
        """Note that one look at an object has ended."""
        self._seconds.labels(kind).observe(seconds)
        self._reconciled.labels(kind, outcome).inc()

    def asked_kubernetes(self, method: str, code: str) -> None:
        self._kubernetes.labels(method, code).inc()

    def asked_nats(self, operation: str, outcome: str) -> None:
        self._nats.labels(operation, outcome).inc()

    def refused_by_nats(self, operation: str, err_code: int) -> None:
        self._refusals.labels(operation, str(err_code)).inc()

    def watch(self, work: Work, leadership: Leadership, clock: Clock) -> None:
        """Read the gauges from these, whenever somebody asks."""
        self.registry.register(Read(Gauges(work, leadership, clock).read))

    def shown(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return prometheus_client.generate_latest(self.registry)

    def _counter(self, name: str, meaning: str, labels: list[str]) -> prometheus_client.Counter:
        return prometheus_client.Counter(name, meaning, labels, registry=self.registry)


class Read(Collector):
    """Families that are put together when somebody asks."""

    def __init__(self, read: Callable[[], Iterable[GaugeMetricFamily]]) -> None:
        self._read = read

    @override
    def collect(self) -> Iterable[GaugeMetricFamily]:
        return self._read()


@dataclass(frozen=True)
class Gauges:
    """What is the case at the moment."""

    work: Work
    leadership: Leadership
    clock: Clock

    def read(self) -> Iterator[GaugeMetricFamily]:
        leads = self.leadership.is_held()
        yield _gauge("penstock_leader", "1 on the replica that leads, else 0.", float(leads))
        yield _gauge("penstock_queue_depth", "Objects that wait for a worker.", self.work.depth)
        oldest = self.work.oldest_work
        busy = self.clock() - oldest[1] if oldest else 0
        yield _gauge("penstock_work_oldest_seconds", "How long the oldest look at an object has taken so far.", busy)
        if leads:
            yield from self._objects()

    def _objects(self) -> Iterator[GaugeMetricFamily]:
        everything = list(self.work.declared)
        yield _objects(everything)
        yield _drifted(everything)
        yield self._links(everything)
        consumers = [declared for declared in everything if declared.identity.kind == CONSUMER.name]
        yield _lag("penstock_consumer_pending", "Messages that were not delivered yet.", consumers, "pending")
        meaning = "Messages that were delivered and are not acknowledged."
        yield _lag("penstock_consumer_ack_pending", meaning, consumers, "ackPending")
        groups = [declared for declared in everything if declared.identity.kind == QUEUE_GROUP.name]
        yield _workers(groups)
        yield _ready(groups)
        yield _lost(groups)

    def _links(self, everything: Iterable[Declared]) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "penstock_link_up",
            "1 while JetStream can be asked over a Connection, else 0.",
            labels=["namespace", "name"],
        )
        for declared in everything:
            identity = declared.identity
            if identity.kind == CONNECTION.name:
                is_up = isinstance(self.work.link_state(identity), Connected)
                family.add_metric([identity.namespace, identity.name], float(is_up))
        return family


def _gauge(name: str, meaning: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, meaning, value=value)


def _objects(everything: Iterable[Declared]) -> GaugeMetricFamily:
    counts = Counter((declared.identity.kind, _said(declared, ConditionType.READY)) for declared in everything)
    family = GaugeMetricFamily(
        "penstock_objects", "Declared objects, by their condition Ready.", labels=["kind", "ready"]
    )
    for labels, count in sorted(counts.items()):
        family.add_metric(labels, count)
    return family


def _drifted(everything: Iterable[Declared]) -> GaugeMetricFamily:
    """Count per kind, with a zero where nothing has drifted: else an alert would not see that it is over."""
    counts = Counter({kind.name: 0 for kind in (STREAM, CONSUMER)})
    counts.update(each.identity.kind for each in everything if _said(each, ConditionType.DRIFTED) == TRUE)
    family = GaugeMetricFamily(
        "penstock_objects_drifted", "Declared objects that are on the server not as declared.", labels=["kind"]
    )
    for kind, count in sorted(counts.items()):
        family.add_metric([kind], count)
    return family


def _workers(groups: Iterable[Declared]) -> GaugeMetricFamily:
    """Count each group's workers: those that there are to be, those that there are, and of these who works."""
    family = GaugeMetricFamily(
        "penstock_queue_group_workers", "Workers of a queue group.", labels=["namespace", "name", "state"]
    )
    for declared in groups:
        for state, name in WORKER_STATES.items():
            value = declared.status.get(name)
            if value is not None:
                family.add_metric([declared.identity.namespace, declared.identity.name, state], value)
    return family


def _ready(groups: Iterable[Declared]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        "penstock_queue_group_ready",
        "1 while a queue group works as declared, also without a worker if there is nothing to do; else 0.",
        labels=["namespace", "name", "reason"],
    )
    for declared in groups:
        identity, ready = declared.identity, _condition(declared, ConditionType.READY)
        family.add_metric(
            [identity.namespace, identity.name, str(ready.get("reason", ""))], float(ready.get("status") == TRUE)
        )
    return family


def _lost(groups: Iterable[Declared]) -> GaugeMetricFamily:
    """Count what groups never processed, with a zero where nothing was lost: else an alert would not see the first."""
    family = GaugeMetricFamily(
        "penstock_queue_group_lost_messages",
        "Messages that a queue group never processed: removed from the stream, or given up by the server.",
        labels=["namespace", "name", "cause"],
    )
    for declared in groups:
        if loss := written_loss(declared.status):
            names = [declared.identity.namespace, declared.identity.name]
            family.add_metric([*names, "expired"], loss.expired)
            family.add_metric([*names, "given-up"], loss.given_up)
    return family


def _said(declared: Declared, condition: ConditionType) -> str:
    return str(_condition(declared, condition).get("status", UNKNOWN))


def _condition(declared: Declared, condition: ConditionType) -> Mapping[str, Any]:
    conditions = declared.status.get("conditions") or ()
    return next((said for said in conditions if said["type"] == condition), {})


def _lag(name: str, meaning: str, consumers: Iterable[Declared], field: str) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, meaning, labels=["namespace", "name", "stream", "consumer"])
    for declared in consumers:
        value, status = declared.status.get(field), declared.status
        if value is not None:
            names = [declared.identity.namespace, declared.identity.name]
            family.add_metric([*names, status.get("streamName", ""), status.get("consumerName", "")], value)
    return family
