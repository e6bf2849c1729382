"""The chart, installed with Helm on a real node: the operator becomes ready, sees what is declared, leaves cleanly."""

import contextlib
import json
from collections.abc import Iterator

import pytest

from penstock_operator.constants import API_VERSION
from penstock_operator.resources import KINDS
from tests.cluster.helm import PODS, Helm, leader
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.waiting import eventually
from tools.console import say

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # each waits for several things, one after the other

CRDS = [f"crd/{kind.resource}" for kind in KINDS]
CONNECTION = {
    "apiVersion": API_VERSION,
    "kind": "Connection",
    "metadata": {"name": "nats"},
    "spec": {"servers": ["nats://nats.nats:4222"]},
}
SECONDS = 120
LONG_LEASE_SECONDS = 300
"""Who waits until it runs out has waited for too long."""


@pytest.fixture
def installed(helm: Helm, operator_image: str, cluster_namespace: Namespace) -> Iterator[Namespace]:
    """The chart, installed for the namespace, with the image of this run, and awaited until it is ready."""
    with installed_for(cluster_namespace, helm, operator_image):
        yield cluster_namespace


@pytest.fixture
def installed_with_a_long_lease(helm: Helm, operator_image: str, cluster_namespace: Namespace) -> Iterator[Namespace]:
    with installed_for(cluster_namespace, helm, operator_image, f"--set=lease.durationSeconds={LONG_LEASE_SECONDS}"):
        yield cluster_namespace


@contextlib.contextmanager
def installed_for(namespace: Namespace, helm: Helm, image: str, *values: str) -> Iterator[None]:
    helm.install(image, f"--set=namespaces={{{namespace.name}}}", *values)
    yield
    # The chart leaves them, for good reasons.
    namespace.kubectl("delete", *CRDS, "--ignore-not-found", f"--timeout={SECONDS}s")


def test_the_operator_becomes_ready_and_sees_what_is_declared(installed: Namespace) -> None:
    shown = installed.kubectl("get", "deployments,pods,serviceaccounts,roles")
    say(f"$ kubectl get deployments,pods,serviceaccounts,roles\n{shown}")
    assert "2/2" in shown
    installed.kubectl("create", "--filename=-", stdin=json.dumps(CONNECTION))
    say(f"$ kubectl get penstock\n{installed.kubectl('get', 'penstock')}")
    seen = f"Connection {installed.name}/nats was seen."
    eventually(lambda: seen in installed.kubectl("logs", "deployment/penstock"), "the Connection is seen", SECONDS)


def test_the_clusters_own_roles_let_people_do_with_our_kinds_what_they_let_them_do_with_others(
    installed: Namespace,
) -> None:
    def may(role: str, verb: str) -> bool:
        rules = json.loads(installed.kubectl("get", f"clusterrole/{role}", "--output=json"))["rules"]
        ours = [rule for rule in rules if "penstock.dev" in rule["apiGroups"] and "streams" in rule["resources"]]
        return any(verb in rule["verbs"] for rule in ours)

    roles = ("view", "edit", "admin")
    eventually(lambda: all(may(role, "list") for role in roles), "they have taken up the chart's", SECONDS)
    assert [may(role, "delete") for role in roles] == [False, True, True]


def test_another_replica_leads_at_once_when_the_leaders_pod_is_deleted(
    installed_with_a_long_lease: Namespace,
) -> None:
    namespace = installed_with_a_long_lease
    first = wait_leader(namespace)
    namespace.kubectl("delete", f"pod/{first}", f"--grace-period={2 * SECONDS}", f"--timeout={SECONDS}s")
    wait_leader(namespace, other_than=first)
    namespace.kubectl("rollout", "status", "deployment/penstock", f"--timeout={SECONDS}s")


def test_another_replica_goes_on_when_the_leaders_pod_is_removed_by_force(installed: Namespace) -> None:
    first = wait_leader(installed)
    installed.kubectl("delete", f"pod/{first}", "--force", "--grace-period=0")
    wait_leader(installed, other_than=first)
    installed.kubectl("create", "--filename=-", stdin=json.dumps(CONNECTION))
    ready = '--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    eventually(
        lambda: installed.kubectl("get", "connection/nats", ready) != "", "it says how the Connection stands", SECONDS
    )


def wait_leader(namespace: Namespace, other_than: str = "") -> str:
    """Return the pod whose replica leads, once one does: that all are ready does not say that one has begun to."""
    found: list[str] = []

    def leads() -> bool:
        found[:] = [leader(namespace)]
        return found[0] not in ("", other_than)

    eventually(leads, "a replica leads", SECONDS)
    return found[0]


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
