"""docs/operating.md names what there is: each metric with its labels, each outcome, and no others."""

import re

from prometheus_client.metrics_core import Metric

from penstock_operator.plan.connections import Connecting
from penstock_operator.services.leading import Leadership
from penstock_operator.services.metrics import Metrics, Outcome
from tests.operator.services.test_metrics import AtWork, declared
from tests.testbed.run import ROOT

TEXT = (ROOT / "docs/operating.md").read_text()
ROW = re.compile(r"^\| `(penstock_\w+)` (\*?) ?\| ([\w, ]*?) ?\|", re.MULTILINE)


def families(leadership: Leadership) -> dict[str, Metric]:
    consumer = declared("Consumer", "etl", "True", pending=1, ackPending=1)
    group = declared("QueueGroup", "etl", "True", replicas=1)
    work = AtWork(consumer, group, declared("Connection", "nats"), links={"nats": Connecting()})
    metrics = Metrics()
    metrics.reconciled("Stream", Outcome.DONE, 1)
    metrics.asked_kubernetes("GET", "200")
    metrics.asked_nats("observe", "ok")
    metrics.refused_by_nats("create", 10065)
    metrics.watch(work, leadership, lambda: 200.0)
    ours = [family for family in metrics.registry.collect() if family.name.startswith("penstock_")]
    return {f"{family.name}_total" if family.type == "counter" else family.name: family for family in ours}


def test_it_names_each_metric_with_its_labels_and_who_tells_it() -> None:
    leaders, others = families(Leadership.alone()), families(Leadership(lambda: 0.0))
    rows = {name: (bool(star), set(filter(None, labels.split(", ")))) for name, star, labels in ROW.findall(TEXT)}
    assert rows.keys() == leaders.keys()
    for name, (only_leader, labels) in rows.items():
        assert only_leader is (name not in others), name
        told = {label for sample in leaders[name].samples for label in sample.labels} - {"le"}
        assert told == labels, name


def test_it_names_each_outcome() -> None:
    [row] = [line for line in TEXT.splitlines() if line.startswith("| `penstock_reconcile_total`")]
    assert {outcome.value for outcome in Outcome} <= set(re.findall(r"`([\w-]+)`", row))
