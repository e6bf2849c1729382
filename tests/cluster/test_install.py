"""The chart, installed with Helm on a real node: the operator becomes ready, sees what is declared, leaves cleanly."""

import json
import subprocess
from collections.abc import Callable, Iterator

import pytest

from penstock_operator.constants import API_VERSION
from tests.testbed import binaries
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.run import ROOT
from tests.testbed.waiting import wait_until
from tools.console import say

pytestmark = pytest.mark.e2e

CRD = "crd/connections.penstock.dev"
CONNECTION = {
    "apiVersion": API_VERSION,
    "kind": "Connection",
    "metadata": {"name": "nats"},
    "spec": {"servers": ["nats://nats.nats:4222"]},
}
Helm = Callable[..., str]


@pytest.fixture
def helm(cluster_namespace: Namespace) -> Helm:
    """Helm in the test's namespace."""

    def run(*arguments: str) -> str:
        where = [f"--kubeconfig={cluster_namespace.kubeconfig}", f"--namespace={cluster_namespace.name}"]
        outcome = subprocess.run([binaries.helm(), *arguments, *where], capture_output=True, text=True, check=False)
        assert outcome.returncode == 0, outcome.stderr + state_of(cluster_namespace)
        say(f"$ helm {' '.join(arguments)}\n{outcome.stdout}")
        return outcome.stdout

    return run


@pytest.fixture
def installed(helm: Helm, operator_image: str, cluster_namespace: Namespace) -> Iterator[Namespace]:
    """The chart, installed for the namespace, with the image of this run, and awaited until it is ready."""
    repository, _, tag = operator_image.rpartition(":")
    image = [f"--set=image.repository={repository}", f"--set-string=image.tag={tag}"]
    served = f"--set=namespaces={{{cluster_namespace.name}}}"
    helm("install", "penstock", str(ROOT / "charts/penstock"), *image, served, "--wait", "--timeout=60s")
    yield cluster_namespace
    cluster_namespace.kubectl(
        "delete", CRD, "--ignore-not-found", "--timeout=30s"
    )  # the chart leaves it, for good reasons


def state_of(namespace: Namespace) -> str:
    """Return what helps to see why a release does not become ready."""
    return namespace.kubectl("describe", "pods") + namespace.kubectl("logs", "deployment/penstock", "--prefix")


def test_the_operator_becomes_ready_and_sees_what_is_declared(installed: Namespace) -> None:
    shown = installed.kubectl("get", "deployments,pods,serviceaccounts,roles")
    say(f"$ kubectl get deployments,pods,serviceaccounts,roles\n{shown}")
    assert "1/1" in shown
    installed.kubectl("create", "--filename=-", stdin=json.dumps(CONNECTION))
    say(f"$ kubectl get penstock\n{installed.kubectl('get', 'penstock')}")
    seen = f"Connection {installed.name}/nats was seen."
    wait_until(lambda: seen in installed.kubectl("logs", "deployment/penstock"), "the Connection is seen", 20)


def test_the_operator_ends_at_once_when_it_is_told_to(installed: Namespace) -> None:
    pod = installed.kubectl("get", "pods", "--output=name").strip()
    installed.kubectl("delete", pod, "--grace-period=10", "--timeout=8s")
    installed.kubectl("rollout", "status", "deployment/penstock", "--timeout=60s")


def test_uninstalling_keeps_the_crds_and_what_was_declared(installed: Namespace, helm: Helm) -> None:
    installed.kubectl("create", "--filename=-", stdin=json.dumps(CONNECTION))
    helm("uninstall", "penstock", "--wait", "--timeout=60s")
    assert installed.kubectl("get", "deployments,serviceaccounts", "--selector=app.kubernetes.io/name=penstock") == ""
    assert installed.kubectl("get", "connections", "--output=name") == "connection.penstock.dev/nats\n"


def test_it_can_be_installed_again_over_what_it_left(installed: Namespace, helm: Helm, operator_image: str) -> None:
    helm("uninstall", "penstock", "--wait", "--timeout=60s")
    _, _, tag = operator_image.rpartition(":")
    helm("install", "penstock", str(ROOT / "charts/penstock"), f"--set-string=image.tag={tag}", "--set=replicas=0")
    assert (
        installed.kubectl("get", CRD, "--output=name")
        == "customresourcedefinition.apiextensions.k8s.io/connections.penstock.dev\n"
    )
