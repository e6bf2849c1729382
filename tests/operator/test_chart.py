"""charts/penstock: what it renders, what the API server says to it, which rights it gives, which values it refuses."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock_operator.resources import KINDS
from tests.testbed import binaries
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.run import ROOT

CHART = ROOT / "charts" / "penstock"
VERSION = (ROOT / "VERSION").read_text().strip()
Object = dict[str, Any]


@pytest.fixture(scope="session")
def helm_program() -> Path:
    return binaries.helm()


def helm(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def render(program: Path, *arguments: str, namespace: str = "default") -> list[Object]:
    outcome = helm(program, "template", "release", str(CHART), "--namespace", namespace, *arguments)
    assert outcome.returncode == 0, outcome.stderr
    return [found for found in yaml.safe_load_all(outcome.stdout) if found]


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    return [found for found in objects if found["kind"] == kind]


def apply(plane: Access, objects: list[Object], *arguments: str) -> None:
    plane.kubectl("apply", "--server-side", *arguments, "--filename=-", stdin=yaml.safe_dump_all(objects))


def test_helm_finds_nothing_to_complain_about(helm_program: Path) -> None:
    outcome = helm(helm_program, "lint", "--strict", str(CHART))
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_the_charts_version_is_the_repositorys() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)


@pytest.mark.parametrize("values", [[], ["--set=namespaces={NAMESPACE}"]], ids=["all namespaces", "one namespace"])
def test_the_api_server_accepts_what_is_rendered(
    helm_program: Path, penstock_namespace: Namespace, values: list[str]
) -> None:
    name = penstock_namespace.name
    objects = render(helm_program, *(value.replace("NAMESPACE", name) for value in values), namespace=name)
    assert {"Deployment", "PodDisruptionBudget", "RoleBinding"} <= {found["kind"] for found in objects}
    apply(penstock_namespace.cluster, objects, "--dry-run=server", "--validate=strict", "--force-conflicts")


def test_the_pod_meets_the_restricted_standard(helm_program: Path, namespace: Namespace) -> None:
    label = "pod-security.kubernetes.io/enforce=restricted"
    namespace.cluster.kubectl("label", "namespace", namespace.name, label)
    [deployment] = of_kind(render(helm_program), "Deployment")
    template = deployment["spec"]["template"]
    template["spec"]["serviceAccountName"] = "default"
    pod = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": {"name": "operator"}}
    namespace.kubectl("create", "--dry-run=server", "--filename=-", stdin=yaml.safe_dump(pod))
    assert template["spec"]["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


def test_its_crds_survive_the_charts_removal(helm_program: Path) -> None:
    crds = of_kind(render(helm_program), "CustomResourceDefinition")
    assert [crd["metadata"]["annotations"]["helm.sh/resource-policy"] for crd in crds] == ["keep"] * len(KINDS)
    assert of_kind(render(helm_program, "--set=crds.install=false"), "CustomResourceDefinition") == []


def test_the_policies_come_with_the_definitions_where_the_api_server_knows_such(helm_program: Path) -> None:
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    objects = render(helm_program)
    assert [len(of_kind(objects, kind)) for kind in kinds] == [2, 2]
    assert all(found["metadata"]["labels"] for kind in kinds for found in of_kind(objects, kind))
    for values in ("--set=crds.install=false", "--kube-version=1.29.0"):
        assert [of_kind(render(helm_program, values), kind) for kind in kinds] == [[], []]


def test_two_replicas_are_spread_and_may_not_be_drained_both_at_once(helm_program: Path) -> None:
    objects = render(helm_program)
    [deployment], [budget] = of_kind(objects, "Deployment"), of_kind(objects, "PodDisruptionBudget")
    pod = deployment["spec"]["template"]
    [spread] = pod["spec"]["topologySpreadConstraints"]
    assert deployment["spec"]["replicas"] == 2
    assert budget["spec"]["maxUnavailable"] == 1
    for selector in (spread["labelSelector"], budget["spec"]["selector"], deployment["spec"]["selector"]):
        assert selector["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert of_kind(render(helm_program, "--set=replicas=1"), "PodDisruptionBudget") == []
    [alone] = of_kind(render(helm_program, "--set=topologySpread=null"), "Deployment")
    assert "topologySpreadConstraints" not in alone["spec"]["template"]["spec"]


def test_all_replicas_stand_for_the_one_lease_that_their_role_names(helm_program: Path) -> None:
    objects = render(helm_program, "--set=lease.durationSeconds=30", namespace="messages")
    [deployment] = of_kind(objects, "Deployment")
    [role] = of_kind(objects, "Role")
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--lease=messages/release-penstock" in arguments
    assert "--lease-duration=30" in arguments
    assert [rule.get("resourceNames") for rule in role["rules"]] == [None, ["release-penstock"]]


def test_nothing_of_prometheus_is_rendered_unless_it_is_asked_for(helm_program: Path) -> None:
    kinds = {found["kind"] for found in render(helm_program)}
    assert not kinds & {"Service", "ServiceMonitor", "PodMonitor", "PrometheusRule"}


def test_the_service_reaches_the_port_of_the_metrics(helm_program: Path, namespace: Namespace) -> None:
    objects = render(helm_program, "--set=metrics.serviceMonitor.enabled=true", namespace=namespace.name)
    [service], [deployment] = of_kind(objects, "Service"), of_kind(objects, "Deployment")
    [monitor] = of_kind(objects, "ServiceMonitor")
    ports = deployment["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert service["spec"]["ports"][0]["targetPort"] in {port["name"] for port in ports}
    assert service["spec"]["ports"][0]["name"] == monitor["spec"]["endpoints"][0]["port"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    apply(namespace.cluster, [service], "--dry-run=server", "--validate=strict")


def test_the_pod_monitor_names_a_port_of_the_pod(helm_program: Path) -> None:
    values = ("--set=metrics.podMonitor.enabled=true", "--set=metrics.podMonitor.labels.release=prometheus")
    [monitor] = of_kind(render(helm_program, *values), "PodMonitor")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    assert monitor["spec"]["podMetricsEndpoints"] == [{"port": "probes", "path": "/metrics", "interval": "30s"}]


def test_alerts_ask_for_metrics_that_there_are(helm_program: Path) -> None:
    [rule] = of_kind(render(helm_program, "--set=metrics.alerts.enabled=true"), "PrometheusRule")
    source = (ROOT / "operator/penstock_operator/services/metrics.py").read_text()
    for alert in rule["spec"]["groups"][0]["rules"]:
        for name in re.findall(r"penstock_\w+", alert["expr"]):
            assert f'"{name.removesuffix("_total")}"' in source, name
        assert set(alert["annotations"]) == {"summary", "action"}


def test_the_image_is_the_charts_version_or_what_is_asked_for(helm_program: Path) -> None:
    assert image(helm_program) == f"penstock/operator:{VERSION}"
    assert (
        image(helm_program, "--set=image.repository=mirror.test/penstock", "--set-string=image.tag=1")
        == "mirror.test/penstock:1"
    )
    digest = f"sha256:{'0' * 64}"
    assert (
        image(helm_program, "--set-string=image.tag=1", f"--set=image.digest={digest}") == f"penstock/operator@{digest}"
    )


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("replicas=6", "maximum: got 6, want 5"),
        ("lease.durationSeconds=1", "minimum: got 1, want 3"),
        ("topologySpread.whenUnsatisfiable=Never", "value must be one of 'ScheduleAnyway', 'DoNotSchedule'"),
        ("metrics.alerts.enabled=please", "got string, want boolean"),
        ("imgae.tag=1", "additional properties 'imgae' not allowed"),
        ("logFormat=xml", "value must be one of 'json', 'text'"),
        ("image.digest=latest", "does not match pattern"),
        ("namespaces=orders", "got string, want array"),
        ("crds.install=maybe", "got string, want boolean"),
        ("serviceAccount.create=false", "name one that is there, in serviceAccount.name"),
    ],
)
def test_values_that_make_no_sense_are_refused(helm_program: Path, value: str, complaint: str) -> None:
    outcome = helm(helm_program, "template", str(CHART), f"--set={value}")
    assert outcome.returncode != 0
    assert re.search(re.escape(complaint), outcome.stderr), outcome.stderr


def image(program: Path, *values: str) -> str:
    [deployment] = of_kind(render(program, *values), "Deployment")
    return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])
