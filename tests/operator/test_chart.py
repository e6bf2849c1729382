"""charts/penstock: what it renders, what the API server says to it, which rights it gives, which values it refuses."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.operator.running import running_operator
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
    assert len(objects) == 5
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
    assert [crd["metadata"]["annotations"]["helm.sh/resource-policy"] for crd in crds] == ["keep"]
    assert of_kind(render(helm_program, "--set=crds.install=false"), "CustomResourceDefinition") == []


def test_the_operator_runs_with_just_the_rights_of_one_namespace(
    helm_program: Path, penstock_namespace: Namespace
) -> None:
    name = penstock_namespace.name
    objects = render(helm_program, f"--set=namespaces={{{name}}}", "--set=crds.install=false", namespace=name)
    assert of_kind(objects, "ClusterRole") == []
    kubeconfig = install_rights(penstock_namespace, objects)
    may = penstock_namespace.cluster.may
    assert may(kubeconfig, "watch", "connections.penstock.dev", name)
    assert not may(kubeconfig, "watch", "connections.penstock.dev", "default")
    assert not may(kubeconfig, "get", "secrets", name)
    with running_operator(kubeconfig, f"--namespace={name}") as operator:
        operator.wait_ready()
        assert not [line for line in operator.logged() if line["level"] in ("warning", "error")]


def test_the_operator_runs_with_just_the_rights_of_all_namespaces(
    helm_program: Path, penstock_namespace: Namespace
) -> None:
    name = penstock_namespace.name
    objects = render(helm_program, "--set=crds.install=false", namespace=name)
    assert of_kind(objects, "Role") == []
    kubeconfig = install_rights(penstock_namespace, objects)
    assert not penstock_namespace.cluster.may(kubeconfig, "delete", "connections.penstock.dev", name)
    with running_operator(kubeconfig) as operator:
        operator.wait_ready()
        assert not [line for line in operator.logged() if line["level"] in ("warning", "error")]


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
        ("replicas=2", "maximum: got 2, want 1"),
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


def install_rights(namespace: Namespace, objects: list[Object]) -> Path:
    """Apply all but the Deployment, which nothing here would run, and return the kubeconfig of its account."""
    apply(namespace.cluster, [found for found in objects if found["kind"] != "Deployment"])
    [account] = of_kind(objects, "ServiceAccount")
    return namespace.kubeconfig_for_service_account(account["metadata"]["name"])
