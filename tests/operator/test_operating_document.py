"""docs/operating.md names what there is: each metric with its labels, each outcome, and no others."""

import re

from penstock_operator.services.leading import Leadership
from penstock_operator.services.metrics import Outcome
from tests.operator.served import by_operator, by_worker, labels_of
from tests.testbed.run import ROOT

TEXT = (ROOT / "docs/operating.md").read_text()
OF_OPERATOR, _, OF_WORKERS = TEXT.partition("### Of a worker\n")
ROW = re.compile(r"^\| `(penstock_\w+)` (\*?) ?\| ([\w, ]*?) ?\|", re.MULTILINE)
OF_EACH_WORKER = {"group", "worker"}


def rows(text: str) -> dict[str, tuple[bool, set[str]]]:
    """Return what a table says of each metric: whether it has a star, and its labels."""
    return {name: (bool(star), set(filter(None, labels.split(", ")))) for name, star, labels in ROW.findall(text)}


def test_document_names_each_metric_with_its_labels_and_whether_only_the_leader_has_it() -> None:
    leaders, others, told = by_operator(Leadership.alone()), by_operator(Leadership(lambda: 0.0)), rows(OF_OPERATOR)
    assert told.keys() == leaders.keys()
    for name, (only_leader, labels) in told.items():
        assert only_leader is (name not in others), name
        assert labels_of(leaders[name]) == labels, name


def test_document_names_each_metric_of_a_worker_with_its_labels() -> None:
    served = by_worker()
    assert rows(OF_WORKERS) == {name: (False, labels_of(family) - OF_EACH_WORKER) for name, family in served.items()}


def test_document_names_each_outcome() -> None:
    [row] = [line for line in TEXT.splitlines() if line.startswith("| `penstock_reconcile_total`")]
    assert {outcome.value for outcome in Outcome} <= set(re.findall(r"`([\w-]+)`", row))
