"""What the chart allows: people by the cluster's own roles, and the operator's pods on the network."""

from functools import partial
from pathlib import Path

import pytest
import yaml

from penstock_operator.resources import KINDS
from tests.operator.chart.rendering import Object, apply, container, of_kind, render, render_test
from tests.testbed.kubernetes.access import Namespace

pytestmark = pytest.mark.full
OF_THE_TEST = {"app.kubernetes.io/name": "penstock-test", "app.kubernetes.io/instance": "release"}
LABEL = "rbac.authorization.k8s.io/aggregate-to-"


def aggregated(objects: list[Object]) -> dict[str, Object]:
    """Return the roles that are aggregated to the cluster's own, by the names of those."""
    return {
        label.removeprefix(LABEL): role
        for role in of_kind(objects, "ClusterRole")
        for label in role["metadata"]["labels"]
        if label.startswith(LABEL)
    }


def account_with(namespace: Namespace, role: Object) -> Path:
    """Create a service account with a role in the namespace, and return its kubeconfig."""
    metadata = {"name": "person", "namespace": namespace.name}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role["metadata"]["name"]}
    subject = {"kind": "ServiceAccount", **metadata}
    of_binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    namespace.client.apply(role, account, {**of_binding, "roleRef": reference, "subjects": [subject]})
    return namespace.kubeconfig_for_service_account("person")


@pytest.mark.parametrize(("name", "writes"), [("view", False), ("edit", True), ("admin", True)])
def test_the_clusters_own_roles_include_our_kinds(penstock_namespace: Namespace, name: str, *, writes: bool) -> None:
    namespace = penstock_namespace
    role = aggregated(render(namespace=namespace.name))[name]
    account, plane = account_with(namespace, role), namespace.cluster
    may = partial(plane.may, account)
    for plural in (kind.plural for kind in KINDS):
        assert may("list", f"{plural}.penstock.dev", namespace.name)
        assert may("delete", f"{plural}.penstock.dev", namespace.name) is writes
    assert not may("patch", "streams/status.penstock.dev", namespace.name), "the operator's"
    assert may("get", "queuegroups/scale.penstock.dev", namespace.name)
    assert may("patch", "queuegroups/scale.penstock.dev", namespace.name) is writes
    plane.client.delete(f"clusterrole/{role['metadata']['name']}")


def test_aggregated_roles_the_network_policy_and_monitoring_are_optional() -> None:
    assert set(aggregated(render())) == {"view", "edit", "admin"}
    assert aggregated(render("--set=aggregatedRoles.create=false")) == {}
    monitoring = {"Service", "ServiceMonitor", "PodMonitor", "PrometheusRule", "ConfigMap"}
    assert not {found["kind"] for found in render()} & {"NetworkPolicy", *monitoring}


def test_the_network_policy_allows_probes_dns_the_api_server_and_nats(namespace: Namespace) -> None:
    values = ("--set=networkPolicy.enabled=true", '--set-json=networkPolicy.nats=[{"podSelector":{}}]')
    objects = render(*values, namespace=namespace.name)
    [policy] = of_kind(objects, "NetworkPolicy")
    spec = policy["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert [port["port"] for rule in spec["ingress"] for port in rule["ports"]] == ["probes"]
    assert "probes" in {port["name"] for port in container(objects)["ports"]}
    reached = [
        (rule.get("to"), [(port["protocol"], port["port"]) for port in rule["ports"]]) for rule in spec["egress"]
    ]
    assert reached == [
        (None, [("UDP", 53), ("TCP", 53)]),
        (None, [("TCP", 443), ("TCP", 6443)]),
        ([{"podSelector": {}}], [("TCP", 4222)]),
        ([{"podSelector": {"matchLabels": OF_THE_TEST}}], [("TCP", 4222)]),
    ]
    [tester] = of_kind(render_test(*values), "Pod")
    assert tester["metadata"]["labels"].items() >= OF_THE_TEST.items()
    [deployment] = of_kind(objects, "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert spec["podSelector"]["matchLabels"].items() <= labels.items()
    apply(namespace.cluster, [policy], dry_run=True)


def test_extra_manifests_are_objects_or_templates() -> None:
    text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ include "penstock.fullname" . }}-text"}\n'
    thing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-object"}}
    values = yaml.safe_dump({"extraManifests": [text, thing]})
    found = of_kind(render("--values=-", text=values), "ConfigMap")
    assert [each["metadata"]["name"] for each in found] == ["release-penstock-text", "release-object"]


def test_common_labels_are_on_all_objects_and_do_not_replace_ours() -> None:
    values = {"commonLabels": {"team": "data", "app.kubernetes.io/name": "other"}}
    objects = render("--set=metrics.service.enabled=true", "--values=-", text=yaml.safe_dump(values))
    assert {each["metadata"]["labels"].get("team") for each in objects} == {"data"}
    assert {each["metadata"]["labels"]["app.kubernetes.io/name"] for each in objects} == {"penstock"}
