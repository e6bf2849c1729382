"""What charts/penstock renders, and whether the API server accepts it."""

import pytest
import yaml

from penstock_operator.resources import KINDS
from tests.operator.chart.rendering import CHART, DIGEST, apply, container, helm, of_kind, render
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.run import ROOT

VERSION = (ROOT / "VERSION").read_text().strip()


@pytest.mark.full
def test_helm_lint_finds_nothing() -> None:
    outcome = helm("lint", "--strict", str(CHART))
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_the_chart_has_the_version_of_the_repository() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)


@pytest.mark.full
def test_the_api_server_accepts_the_chart(penstock_namespace: Namespace) -> None:
    name = penstock_namespace.name
    for values in ([], [f"--set=namespaces={{{name}}}"]):
        objects = render(*values, namespace=name)
        assert {"Deployment", "PodDisruptionBudget", "RoleBinding"} <= {found["kind"] for found in objects}
        apply(penstock_namespace.cluster, objects, dry_run=True)


@pytest.mark.full
def test_the_pod_meets_the_restricted_standard(namespace: Namespace) -> None:
    namespace.client.label(f"namespace/{namespace.name}", {"pod-security.kubernetes.io/enforce": "restricted"})
    [deployment] = of_kind(render(), "Deployment")
    template = deployment["spec"]["template"]
    template["spec"]["serviceAccountName"] = "default"
    pod = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": {"name": "operator"}}
    namespace.client.create(pod, dry_run=True)
    assert template["spec"]["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


@pytest.mark.full
def test_definitions_stay_when_the_chart_is_uninstalled() -> None:
    crds = of_kind(render(), "CustomResourceDefinition")
    assert [crd["metadata"]["annotations"]["helm.sh/resource-policy"] for crd in crds] == ["keep"] * len(KINDS)
    assert of_kind(render("--set=crds.install=false"), "CustomResourceDefinition") == []


@pytest.mark.full
def test_admission_policies_come_with_the_definitions_on_servers_that_have_them() -> None:
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    objects = render()
    assert [len(of_kind(objects, kind)) for kind in kinds] == [2, 2]
    assert all(found["metadata"]["labels"] for kind in kinds for found in of_kind(objects, kind))
    for values in ("--set=crds.install=false", "--kube-version=1.29.0"):
        assert [of_kind(render(values), kind) for kind in kinds] == [[], []]


@pytest.mark.full
def test_two_replicas_are_spread_and_have_a_disruption_budget() -> None:
    objects = render()
    [deployment], [budget] = of_kind(objects, "Deployment"), of_kind(objects, "PodDisruptionBudget")
    pod = deployment["spec"]["template"]
    [spread] = pod["spec"]["topologySpreadConstraints"]
    assert deployment["spec"]["replicas"] == 2
    assert budget["spec"]["maxUnavailable"] == 1
    for selector in (spread["labelSelector"], budget["spec"]["selector"], deployment["spec"]["selector"]):
        assert selector["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert of_kind(render("--set=replicas=1"), "PodDisruptionBudget") == []
    [alone] = of_kind(render("--set=topologySpread=null"), "Deployment")
    assert "topologySpreadConstraints" not in alone["spec"]["template"]["spec"]


@pytest.mark.full
def test_all_replicas_use_the_lease_that_their_role_names() -> None:
    objects = render("--set=lease.durationSeconds=30", namespace="messages")
    [deployment] = of_kind(objects, "Deployment")
    [role] = of_kind(objects, "Role")
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--lease=messages/release-penstock" in arguments
    assert "--lease-duration=30" in arguments
    assert [rule.get("resourceNames") for rule in role["rules"]] == [None, ["release-penstock"]]


@pytest.mark.full
def test_the_image_has_the_charts_version_unless_values_set_another() -> None:
    def image(*values: str) -> str:
        return str(container(render(*values))["image"])

    assert image() == f"penstock/operator:{VERSION}"
    assert image("--set=image.repository=mirror.test/penstock", "--set-string=image.tag=1") == "mirror.test/penstock:1"
    assert image("--set-string=image.tag=1", f"--set=image.digest={DIGEST}") == f"penstock/operator@{DIGEST}"
