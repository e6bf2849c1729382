"""The chart as Helm renders it: objects, and what Helm says to values that it refuses.

Knows Helm's command line. Does not know what is in the chart.
"""

import subprocess
from typing import Any

import yaml

from tests.testbed import binaries
from tests.testbed.kubernetes.access import Access
from tests.testbed.run import ROOT

CHART = ROOT / "charts" / "penstock"
HOOK = "helm.sh/hook"
Object = dict[str, Any]


def helm(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run it with a text as its standard input."""
    return subprocess.run([binaries.helm(), *arguments], capture_output=True, text=True, check=False, input=text)


def render(*arguments: str, namespace: str = "default", text: str = "") -> list[Object]:
    """Return what a release called `release` consists of; with `--values=-`, the text says its values."""
    return [
        found for found in render_all(*arguments, namespace=namespace, text=text) if HOOK not in _annotations(found)
    ]


def render_test(*arguments: str, namespace: str = "default") -> list[Object]:
    """Return what `helm test` makes."""
    return [found for found in render_all(*arguments, namespace=namespace) if _annotations(found).get(HOOK) == "test"]


def render_all(*arguments: str, namespace: str = "default", text: str = "") -> list[Object]:
    """Return a release and its test together."""
    outcome = helm("template", "release", str(CHART), "--namespace", namespace, *arguments, text=text)
    assert outcome.returncode == 0, outcome.stderr
    return [found for found in yaml.safe_load_all(outcome.stdout) if found]


def _annotations(found: Object) -> Object:
    return found["metadata"].get("annotations") or {}


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    return [found for found in objects if found["kind"] == kind]


def container(objects: list[Object]) -> Object:
    """Return the operator's container."""
    [deployment] = of_kind(objects, "Deployment")
    [found] = deployment["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def apply(plane: Access, objects: list[Object], *arguments: str) -> None:
    plane.kubectl("apply", "--server-side", *arguments, "--filename=-", stdin=yaml.safe_dump_all(objects))
