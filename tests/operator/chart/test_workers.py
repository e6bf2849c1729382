"""What the chart tells the operator of the workers that it is to make, in options that the program knows."""

import re
import subprocess

from tests.operator.chart.rendering import container, render
from tests.operator.running import PENSTOCK
from tests.testbed.run import ROOT

VERSION = (ROOT / "VERSION").read_text().strip()
PULLED = '--set-json=worker.image.pullSecrets=[{"name":"one"},{"name":"two"}]'


def options(*values: str) -> dict[str, list[str]]:
    """Return what the operator is told, by the names of its options."""
    found: dict[str, list[str]] = {}
    for argument in container(render(*values))["args"]:
        name, _, value = argument.partition("=")
        found.setdefault(name, []).append(value)
    return found


def test_workers_have_the_image_of_the_operators_version_and_may_do_least() -> None:
    told = options()
    assert told["--worker-image"] == [f"penstock/worker:{VERSION}"]
    assert told["--worker-pull-policy"] == ["IfNotPresent"]
    assert told["--pod-security"] == ["restricted"]
    assert "--worker-pull-secret" not in told


def test_workers_may_have_another_image_with_other_secrets_to_pull_it_by() -> None:
    digest = f"sha256:{'0' * 64}"
    told = options("--set=worker.image.repository=mirror.test/worker", f"--set=worker.image.digest={digest}", PULLED)
    assert told["--worker-image"] == [f"mirror.test/worker@{digest}"]
    assert told["--worker-pull-secret"] == ["one", "two"]


def test_the_program_knows_all_that_it_is_told() -> None:
    shown = subprocess.run([PENSTOCK, "operator", "--help"], capture_output=True, text=True, check=True).stdout
    known = set(re.findall(r"--[a-z][a-z-]+", shown))
    assert options(PULLED, "--set=namespaces={orders}").keys() <= known
