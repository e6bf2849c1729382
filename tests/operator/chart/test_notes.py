"""What Helm says when the chart is installed: the next commands, which are true."""

import re

import pytest

from tests.operator.chart.rendering import CHART, helm
from tests.testbed.run import ROOT


def notes(*values: str) -> str:
    outcome = helm("install", "release", str(CHART), "--dry-run=client", "--namespace=penstock", *values)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout.partition("\nNOTES:\n")[2]


def test_they_tell_how_to_see_that_it_works_and_what_to_do_next() -> None:
    commands = [line.strip() for line in notes().splitlines() if line.startswith("  ")]
    assert commands[:2] == [
        "kubectl --namespace penstock rollout status deployment/release-penstock",
        "helm test release --namespace penstock --logs",
    ]
    assert all(command.startswith("kubectl --namespace default ") for command in commands[3:])
    files = re.findall(r"examples/[\w/.]+", " ".join(commands))
    assert len(files) == 3
    assert all((ROOT / file).exists() for file in files)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ("--set=namespaces={orders,bills}", "It serves orders, bills."),
        ("--set=namespaces={orders,bills}", "kubectl --namespace orders apply"),
        ("--set=crds.install=false", "penstock crds | kubectl apply --server-side -f -"),
        ("--set=replicas=0", "It is paused"),
    ],
)
def test_they_tell_what_follows_from_values(values: str, sentence: str) -> None:
    assert sentence in notes(values)
    assert sentence not in notes()


def test_a_test_that_is_not_there_is_not_told_of() -> None:
    assert "helm test" not in notes("--set=tests.enabled=false")
