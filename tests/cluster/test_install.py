"""The chart, installed with Helm on a real node: the operator becomes ready, sees what is declared, leaves cleanly."""

import json

import pytest

from tests.cluster.helm import PODS, Helm, wait_leader
from tests.cluster.objects import CRDS, manifest
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.waiting import eventually
from tools.console import say

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # each waits for several things, one after the other

CONNECTION = manifest("Connection", "nats", {"servers": ["nats://nats.nats:4222"]})
SHOWN = "deployments,pods,serviceaccounts,roles"
SECONDS = 120
LONG_LEASE_SECONDS = 300
"""Longer than any wait here: the next leader doesn't wait for the lease to expire."""


def test_operator_becomes_ready_and_sees_what_is_declared_and_the_clusters_roles_cover_our_kinds(
    helm: Helm, operator_image: str, cluster_namespace: Namespace
) -> None:
    helm.install(operator_image)
    shown = cluster_namespace.kubectl("get", SHOWN)
    say(f"$ kubectl get {SHOWN}\n{shown}")
    assert "2/2" in shown
    cluster_namespace.client.create(CONNECTION)
    say(f"$ kubectl get penstock\n{cluster_namespace.kubectl('get', 'penstock')}")
    seen = f"Connection {cluster_namespace.name}/nats was seen."
    eventually(lambda: seen in cluster_namespace.kubectl("logs", "deployment/penstock"), "it is seen", SECONDS)

    def may(role: str, verb: str) -> bool:
        rules = json.loads(cluster_namespace.kubectl("get", f"clusterrole/{role}", "--output=json"))["rules"]
        ours = [rule for rule in rules if "penstock.dev" in rule["apiGroups"] and "streams" in rule["resources"]]
        return any(verb in rule["verbs"] for rule in ours)

    roles = ("view", "edit", "admin")
    eventually(lambda: all(may(role, "list") for role in roles), "they aggregate the chart's roles", SECONDS)
    assert [may(role, "delete") for role in roles] == [False, True, True]


def test_another_replica_leads_at_once_when_the_leaders_pod_is_deleted(
    helm: Helm, operator_image: str, cluster_namespace: Namespace
) -> None:
    helm.install(operator_image, f"--set=lease.durationSeconds={LONG_LEASE_SECONDS}")
    first = wait_leader(cluster_namespace)
    cluster_namespace.kubectl("delete", f"pod/{first}", f"--grace-period={2 * SECONDS}", f"--timeout={SECONDS}s")
    wait_leader(cluster_namespace, other_than=first)
    cluster_namespace.kubectl("rollout", "status", "deployment/penstock", f"--timeout={SECONDS}s")


def test_uninstalling_keeps_the_crds_and_what_was_declared_and_installing_again_accepts_them(
    helm: Helm, operator_image: str, cluster_namespace: Namespace
) -> None:
    helm.install(operator_image)
    cluster_namespace.client.create(CONNECTION)
    helm.uninstall()
    assert cluster_namespace.kubectl("get", "deployments,serviceaccounts", PODS) == ""
    declared = ["get", "connections", "--output=name"]
    assert cluster_namespace.kubectl(*declared) == "connection.penstock.dev/nats\n"
    helm.install(operator_image, "--set=replicas=0")
    assert cluster_namespace.kubectl(*declared) == "connection.penstock.dev/nats\n"
    assert cluster_namespace.kubectl("get", CRDS[0], "--output=name")
