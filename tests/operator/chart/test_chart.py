"""charts/penstock: what it renders, what the API server says to it."""

import pytest
import yaml

from penstock_operator.resources import KINDS
from tests.operator.chart.rendering import CHART, apply, container, helm, of_kind, render
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.run import ROOT

VERSION = (ROOT / "VERSION").read_text().strip()


def test_helm_finds_nothing_to_complain_about() -> None:
    outcome = helm("lint", "--strict", str(CHART))
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_the_charts_version_is_the_repositorys() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)


@pytest.mark.parametrize("values", [[], ["--set=namespaces={NAMESPACE}"]], ids=["all namespaces", "one namespace"])
def test_the_api_server_accepts_what_is_rendered(penstock_namespace: Namespace, values: list[str]) -> None:
    name = penstock_namespace.name
    objects = render(*(value.replace("NAMESPACE", name) for value in values), namespace=name)
    assert {"Deployment", "PodDisruptionBudget", "RoleBinding"} <= {found["kind"] for found in objects}
    apply(penstock_namespace.cluster, objects, "--dry-run=server", "--validate=strict", "--force-conflicts")


def test_the_pod_meets_the_restricted_standard(namespace: Namespace) -> None:
    label = "pod-security.kubernetes.io/enforce=restricted"
    namespace.cluster.kubectl("label", "namespace", namespace.name, label)
    [deployment] = of_kind(render(), "Deployment")
    template = deployment["spec"]["template"]
    template["spec"]["serviceAccountName"] = "default"
    pod = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": {"name": "operator"}}
    namespace.kubectl("create", "--dry-run=server", "--filename=-", stdin=yaml.safe_dump(pod))
    assert template["spec"]["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


def test_its_crds_survive_the_charts_removal() -> None:
    crds = of_kind(render(), "CustomResourceDefinition")
    assert [crd["metadata"]["annotations"]["helm.sh/resource-policy"] for crd in crds] == ["keep"] * len(KINDS)
    assert of_kind(render("--set=crds.install=false"), "CustomResourceDefinition") == []


def test_the_policies_come_with_the_definitions_where_the_api_server_knows_such() -> None:
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    objects = render()
    assert [len(of_kind(objects, kind)) for kind in kinds] == [2, 2]
    assert all(found["metadata"]["labels"] for kind in kinds for found in of_kind(objects, kind))
    for values in ("--set=crds.install=false", "--kube-version=1.29.0"):
        assert [of_kind(render(values), kind) for kind in kinds] == [[], []]


def test_two_replicas_are_spread_and_may_not_be_drained_both_at_once() -> None:
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


def test_all_replicas_stand_for_the_one_lease_that_their_role_names() -> None:
    objects = render("--set=lease.durationSeconds=30", namespace="messages")
    [deployment] = of_kind(objects, "Deployment")
    [role] = of_kind(objects, "Role")
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--lease=messages/release-penstock" in arguments
    assert "--lease-duration=30" in arguments
    assert [rule.get("resourceNames") for rule in role["rules"]] == [None, ["release-penstock"]]


def test_the_image_is_the_charts_version_or_what_is_asked_for() -> None:
    assert image() == f"penstock/operator:{VERSION}"
    assert image("--set=image.repository=mirror.test/penstock", "--set-string=image.tag=1") == "mirror.test/penstock:1"
    digest = f"sha256:{'0' * 64}"
    assert image("--set-string=image.tag=1", f"--set=image.digest={digest}") == f"penstock/operator@{digest}"


def image(*values: str) -> str:
    return str(container(render(*values))["image"])
