"""What charts/penstock renders, prints and allows, and whether the API server and the operator accept it."""

import re
from functools import cache, partial
from pathlib import Path

import pytest
import yaml

from penstock_operator.resources import KINDS
from tests.operator.accounts import RBAC, create_account
from tests.operator.chart.rendering import CHART, DIGEST, container, helm, of_kind, only, render, render_test
from tests.operator.cli.commands import penstock
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.client import Object
from tests.testbed.run import ROOT

pytestmark = pytest.mark.full
VERSION = (ROOT / "VERSION").read_text().strip()
OF_THE_TEST = {"app.kubernetes.io/name": "penstock-test", "app.kubernetes.io/instance": "release"}
LABEL = f"{RBAC}/aggregate-to-"
PULLED = '--set-json=worker.image.pullSecrets=[{"name":"one"},{"name":"two"}]'


def test_helm_lint_finds_nothing() -> None:
    outcome = helm("lint", "--strict", str(CHART))
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_the_api_server_accepts_the_chart(penstock_namespace: Namespace) -> None:
    name = penstock_namespace.name
    for values in ([], [f"--set=namespaces={{{name}}}"]):
        objects = render(*values, namespace=name)
        assert {"Deployment", "PodDisruptionBudget", "RoleBinding"} <= {found["kind"] for found in objects}
        penstock_namespace.cluster.client.apply(*objects, dry_run=True)


def test_the_pod_meets_the_restricted_standard(namespace: Namespace) -> None:
    namespace.client.label(f"namespace/{namespace.name}", {"pod-security.kubernetes.io/enforce": "restricted"})
    template = only(render(), "Deployment")["spec"]["template"]
    template["spec"]["serviceAccountName"] = "default"
    pod = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": {"name": "operator"}}
    namespace.client.create(pod, dry_run=True)
    assert template["spec"]["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


def test_definitions_come_with_admission_policies_and_stay_when_the_chart_is_uninstalled() -> None:
    policies = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    objects, without = render(), render("--set=crds.install=false")
    crds = of_kind(objects, "CustomResourceDefinition")
    assert [crd["metadata"]["annotations"]["helm.sh/resource-policy"] for crd in crds] == ["keep"] * len(KINDS)
    assert of_kind(without, "CustomResourceDefinition") == []
    assert [len(of_kind(objects, kind)) for kind in policies] == [2, 2]
    assert all(found["metadata"]["labels"] for kind in policies for found in of_kind(objects, kind))
    for others in (without, render("--kube-version=1.29.0")):  # whose API server has no such policies
        assert [of_kind(others, kind) for kind in policies] == [[], []]


def test_two_replicas_are_spread_and_have_a_disruption_budget() -> None:
    objects = render()
    deployment, budget = only(objects, "Deployment"), only(objects, "PodDisruptionBudget")
    pod = deployment["spec"]["template"]
    [spread] = pod["spec"]["topologySpreadConstraints"]
    assert deployment["spec"]["replicas"] == 2
    assert budget["spec"]["maxUnavailable"] == 1
    for selector in (spread["labelSelector"], budget["spec"]["selector"], deployment["spec"]["selector"]):
        assert selector["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert of_kind(render("--set=replicas=1"), "PodDisruptionBudget") == []
    alone = only(render("--set=topologySpread=null"), "Deployment")
    assert "topologySpreadConstraints" not in alone["spec"]["template"]["spec"]


def test_all_replicas_use_the_lease_that_their_role_names() -> None:
    objects = render("--set=lease.durationSeconds=30", namespace="messages")
    arguments = container(objects)["args"]
    assert "--lease=messages/release-penstock" in arguments
    assert "--lease-duration=30" in arguments
    assert [rule.get("resourceNames") for rule in only(objects, "Role")["rules"]] == [None, ["release-penstock"]]


def options(*values: str) -> dict[str, list[str]]:
    """Return the operator's arguments by the names of its options."""
    found: dict[str, list[str]] = {}
    for argument in container(render(*values))["args"]:
        name, _, value = argument.partition("=")
        found.setdefault(name, []).append(value)
    return found


def test_images_have_the_charts_version_unless_values_set_others() -> None:
    def image(*values: str) -> str:
        return str(container(render(*values))["image"])

    assert image() == f"penstock/operator:{VERSION}"
    assert image("--set=image.repository=mirror.test/penstock", "--set-string=image.tag=1") == "mirror.test/penstock:1"
    assert image("--set-string=image.tag=1", f"--set=image.digest={DIGEST}") == f"penstock/operator@{DIGEST}"
    found = options()
    assert found["--worker-image"] == [f"penstock/worker:{VERSION}"]
    assert found["--worker-pull-policy"] == ["IfNotPresent"]
    assert found["--pod-security"] == ["restricted"]
    assert "--worker-pull-secret" not in found
    found = options("--set=worker.image.repository=mirror.test/worker", f"--set=worker.image.digest={DIGEST}", PULLED)
    assert found["--worker-image"] == [f"mirror.test/worker@{DIGEST}"]
    assert found["--worker-pull-secret"] == ["one", "two"]


def test_the_operator_has_all_options_that_the_chart_sets() -> None:
    known = set(re.findall(r"--[a-z][a-z-]+", penstock("operator", "--help").stdout))
    assert options(PULLED, "--set=namespaces={orders}").keys() <= known


@cache
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


def test_the_notes_depend_on_values() -> None:
    for sentence, values in (
        ("It serves orders, bills.", "--set=namespaces={orders,bills}"),
        ("kubectl --namespace orders apply", "--set=namespaces={orders,bills}"),
        ("penstock crds | kubectl apply --server-side -f -", "--set=crds.install=false"),
        ("It is paused", "--set=replicas=0"),
    ):
        assert sentence in notes(values)
        assert sentence not in notes()
    assert "helm test" in notes()
    assert "helm test" not in notes("--set=tests.enabled=false")


def aggregated(objects: list[Object]) -> dict[str, Object]:
    """Return the roles that are aggregated to the cluster's own, by the names of those."""
    return {
        label.removeprefix(LABEL): role
        for role in of_kind(objects, "ClusterRole")
        for label in role["metadata"]["labels"]
        if label.startswith(LABEL)
    }


def account_with(namespace: Namespace, role: Object) -> Path:
    """Create a service account with a cluster role in the namespace, and return its kubeconfig."""
    account = create_account(namespace, "person")
    subject = {"kind": "ServiceAccount", "name": "person", "namespace": namespace.name}
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role["metadata"]["name"]}
    binding = {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": {"name": "person"}}
    namespace.client.apply(role, {**binding, "roleRef": reference, "subjects": [subject]})
    return account


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
    policy = only(objects, "NetworkPolicy")
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
    assert only(render_test(*values), "Pod")["metadata"]["labels"].items() >= OF_THE_TEST.items()
    labels = only(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert spec["podSelector"]["matchLabels"].items() <= labels.items()
    namespace.cluster.client.apply(policy, dry_run=True)


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
