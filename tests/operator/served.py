"""All metric families that our programs can serve, read from their own registries."""

from collections.abc import Iterable

from prometheus_client.metrics_core import Metric

from penstock_operator.plan.connections import Connecting
from penstock_operator.services.leading import Leadership
from penstock_operator.services.metrics import Metrics, Outcome
from penstock_worker.engine import metrics as engine
from penstock_worker.engine.shelf import Shelf
from penstock_worker.engine.standing import Standing
from penstock_worker.policy.settings import EngineSettings
from tests.operator.services.test_metrics import LOSS, AtWork, declared

Families = dict[str, Metric]


def by_operator(leadership: Leadership) -> Families:
    consumer = declared("Consumer", "etl", "True", pending=1, ackPending=1)
    group = declared("QueueGroup", "etl", "True", replicas=1, messageLoss=LOSS)
    work = AtWork(consumer, group, declared("Connection", "nats"), links={"nats": Connecting()})
    metrics = Metrics()
    metrics.reconciled("Stream", Outcome.DONE, 1)
    metrics.asked_kubernetes("GET", "200")
    metrics.asked_nats("observe", "ok")
    metrics.refused_by_nats("create", 10065)
    metrics.watch(work, leadership, lambda: 200.0)
    return _named(metrics.registry.collect())


def by_worker() -> Families:
    settings = EngineSettings(
        group="a/etl", worker="w", stream="S", consumer="c", dead_letter_stream="D", dead_letter_subject="d"
    )
    metrics = engine.Metrics(settings.group, settings.worker)
    metrics.ran("ok", 1)
    metrics.noted("opened")
    metrics.answered("acked", 1, 1)
    metrics.renewed(1)
    metrics.published(1)
    metrics.watch(Standing(settings), Shelf())
    return _named(metrics.registry.collect())


def labels_of(family: Metric) -> set[str]:
    return {label for sample in family.samples for label in sample.labels} - {"le"}


def _named(families: Iterable[Metric]) -> Families:
    """Name each as people ask for it, without what every program has."""
    ours = [family for family in families if family.name.startswith("penstock_")]
    return {f"{family.name}_total" if family.type == "counter" else family.name: family for family in ours}
