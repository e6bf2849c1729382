"""The chart as Helm renders it: objects, and Helm's complaints about values."""

import subprocess
from functools import cache

import yaml

from tests.testbed import binaries
from tests.testbed.kubernetes.client import Object
from tests.testbed.run import ROOT

CHART = ROOT / "charts" / "penstock"
HOOK = "helm.sh/hook"
DIGEST = f"sha256:{'0' * 64}"


def helm(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run it with a text as its standard input."""
    return subprocess.run([binaries.helm(), *arguments], capture_output=True, text=True, check=False, input=text)


def render(*arguments: str, namespace: str = "default", text: str = "") -> list[Object]:
    """Return the objects of a release called `release`; `--values=-` reads its values from the text."""
    return [
        found for found in render_all(*arguments, namespace=namespace, text=text) if HOOK not in _annotations(found)
    ]


def render_test(*arguments: str, namespace: str = "default") -> list[Object]:
    """Return the objects that `helm test` creates."""
    return [found for found in render_all(*arguments, namespace=namespace) if _annotations(found).get(HOOK) == "test"]


def render_all(*arguments: str, namespace: str = "default", text: str = "") -> list[Object]:
    """Return the objects of a release and of its test."""
    return [found for found in yaml.load_all(_template(namespace, arguments, text), Loader=yaml.CSafeLoader) if found]


@cache
def _template(namespace: str, arguments: tuple[str, ...], text: str) -> str:
    outcome = helm("template", "release", str(CHART), "--namespace", namespace, *arguments, text=text)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def _annotations(found: Object) -> Object:
    return found["metadata"].get("annotations") or {}


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    return [found for found in objects if found["kind"] == kind]


def only(objects: list[Object], kind: str) -> Object:
    """Return the one object of a kind."""
    [found] = of_kind(objects, kind)
    return found


def container(objects: list[Object]) -> Object:
    """Return the operator's container."""
    [found] = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found
