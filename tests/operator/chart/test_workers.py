"""What the chart sets for the workers: options that the operator has."""

import re

import pytest

from tests.operator.chart.rendering import DIGEST, container, render
from tests.operator.cli.commands import penstock
from tests.testbed.run import ROOT

pytestmark = pytest.mark.full
VERSION = (ROOT / "VERSION").read_text().strip()
PULLED = '--set-json=worker.image.pullSecrets=[{"name":"one"},{"name":"two"}]'


def options(*values: str) -> dict[str, list[str]]:
    """Return the operator's arguments by the names of its options."""
    found: dict[str, list[str]] = {}
    for argument in container(render(*values))["args"]:
        name, _, value = argument.partition("=")
        found.setdefault(name, []).append(value)
    return found


def test_workers_have_the_image_of_the_operators_version_and_a_restricted_pod() -> None:
    found = options()
    assert found["--worker-image"] == [f"penstock/worker:{VERSION}"]
    assert found["--worker-pull-policy"] == ["IfNotPresent"]
    assert found["--pod-security"] == ["restricted"]
    assert "--worker-pull-secret" not in found


def test_workers_may_have_another_image_and_pull_secrets() -> None:
    found = options("--set=worker.image.repository=mirror.test/worker", f"--set=worker.image.digest={DIGEST}", PULLED)
    assert found["--worker-image"] == [f"mirror.test/worker@{DIGEST}"]
    assert found["--worker-pull-secret"] == ["one", "two"]


def test_the_operator_has_all_options_that_the_chart_sets() -> None:
    known = set(re.findall(r"--[a-z][a-z-]+", penstock("operator", "--help").stdout))
    assert options(PULLED, "--set=namespaces={orders}").keys() <= known
