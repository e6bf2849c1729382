"""The notes that Helm prints when the chart is installed."""

import re

import pytest

from tests.operator.chart.rendering import CHART, helm
from tests.testbed.run import ROOT

pytestmark = pytest.mark.full


def notes(*values: str) -> str:
    outcome = helm("install", "release", str(CHART), "--dry-run=client", "--namespace=penstock", *values)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout.partition("\nNOTES:\n")[2]


def test_the_notes_name_commands_and_files_that_exist() -> None:
    commands = [line.strip() for line in notes().splitlines() if line.startswith("  ")]
    assert commands[:2] == [
        "kubectl --namespace penstock rollout status deployment/release-penstock",
        "helm test release --namespace penstock --logs",
    ]
    assert all(command.startswith("kubectl --namespace default ") for command in commands[3:])
    files = re.findall(r"examples/[\w/.]+", " ".join(commands))
    assert len(files) == 3
    assert all((ROOT / file).exists() for file in files)


SENTENCES = {
    "It serves orders, bills.": "--set=namespaces={orders,bills}",
    "kubectl --namespace orders apply": "--set=namespaces={orders,bills}",
    "penstock crds | kubectl apply --server-side -f -": "--set=crds.install=false",
    "It is paused": "--set=replicas=0",
}


def test_the_notes_depend_on_values(subtests: pytest.Subtests) -> None:
    usual = notes()
    for sentence, values in SENTENCES.items():
        with subtests.test(sentence):
            assert sentence in notes(values)
            assert sentence not in usual
    assert "helm test" in usual
    assert "helm test" not in notes("--set=tests.enabled=false")
