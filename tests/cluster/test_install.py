"""The chart, installed with Helm on a real node: the operator becomes ready, sees what is declared, leaves cleanly."""

import json
from collections.abc import Iterator

import pytest

from penstock_operator.constants import API_VERSION
from penstock_operator.resources import KINDS
from tests.cluster.helm import PODS, Helm
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.waiting import wait_until
from tools.console import say

pytestmark = pytest.mark.e2e

CRDS = [f"crd/{kind.resource}" for kind in KINDS]
CONNECTION = {
    "apiVersion": API_VERSION,
    "kind": "Connection",
    "metadata": {"name": "nats"},
    "spec": {"servers": ["nats://nats.nats:4222"]},
}
TAKEOVER_SECONDS = 15 + 5
"""The chart's leaseDuration, and what a busy node needs to kill a pod."""
RELEASE_SECONDS = 8


@pytest.fixture
def installed(helm: Helm, operator_image: str, cluster_namespace: Namespace) -> Iterator[Namespace]:
    """The chart, installed for the namespace, with the image of this run, and awaited until it is ready."""
    helm.install(operator_image, f"--set=namespaces={{{cluster_namespace.name}}}")
    yield cluster_namespace
    # The chart leaves them, for good reasons.
    cluster_namespace.kubectl("delete", *CRDS, "--ignore-not-found", "--timeout=30s")


def test_the_operator_becomes_ready_and_sees_what_is_declared(installed: Namespace) -> None:
    shown = installed.kubectl("get", "deployments,pods,serviceaccounts,roles")
    say(f"$ kubectl get deployments,pods,serviceaccounts,roles\n{shown}")
    assert "2/2" in shown
    installed.kubectl("create", "--filename=-", stdin=json.dumps(CONNECTION))
    say(f"$ kubectl get penstock\n{installed.kubectl('get', 'penstock')}")
    seen = f"Connection {installed.name}/nats was seen."
    wait_until(lambda: seen in installed.kubectl("logs", "deployment/penstock"), "the Connection is seen", 20)


def test_another_replica_leads_at_once_when_the_leaders_pod_is_deleted(installed: Namespace) -> None:
    first = leader(installed)
    installed.kubectl("delete", f"pod/{first}", "--grace-period=10", f"--timeout={RELEASE_SECONDS}s")
    wait_until(lambda: leader(installed) not in ("", first), "another leads", RELEASE_SECONDS)
    installed.kubectl("rollout", "status", "deployment/penstock", "--timeout=60s")


def test_another_replica_goes_on_when_the_leaders_pod_is_removed_by_force(installed: Namespace) -> None:
    first = leader(installed)
    installed.kubectl("delete", f"pod/{first}", "--force", "--grace-period=0")
    wait_until(lambda: leader(installed) not in ("", first), "another leads", TAKEOVER_SECONDS)
    installed.kubectl("create", "--filename=-", stdin=json.dumps(CONNECTION))
    ready = '--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    wait_until(
        lambda: installed.kubectl("get", "connection/nats", ready) != "", "it says how the Connection stands", 20
    )


def leader(namespace: Namespace) -> str:
    """Return the pod whose replica leads; nothing if none does."""
    holder = namespace.kubectl("get", "lease/penstock", "--output=jsonpath={.spec.holderIdentity}")
    return holder.rpartition("_")[0]


def test_uninstalling_keeps_the_crds_and_what_was_declared(installed: Namespace, helm: Helm) -> None:
    installed.kubectl("create", "--filename=-", stdin=json.dumps(CONNECTION))
    helm.uninstall()
    assert installed.kubectl("get", "deployments,serviceaccounts", PODS) == ""
    assert installed.kubectl("get", "connections", "--output=name") == "connection.penstock.dev/nats\n"


def test_it_can_be_installed_again_over_what_it_left(installed: Namespace, helm: Helm, operator_image: str) -> None:
    helm.uninstall()
    helm.install(operator_image, "--set=replicas=0")
    assert (
        installed.kubectl("get", CRDS[0], "--output=name")
        == "customresourcedefinition.apiextensions.k8s.io/connections.penstock.dev\n"
    )
