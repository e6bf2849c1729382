"""Chart.yaml: its version, and its annotations for Artifact Hub.

`ah lint` checks only the format (docs/helm_annotations.md of artifacthub/hub), and takes long to build.
"""

from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from penstock_operator.constants import VERSION
from penstock_operator.resources import KINDS
from tests.operator.chart.rendering import CHART, container, helm, render
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.run import ROOT

METADATA = yaml.safe_load((CHART / "Chart.yaml").read_text())
PREFIX = "artifacthub.io/"
TEXTS = {
    "category": {"streaming-messaging", "integration-delivery"},
    "license": {"Apache-2.0"},
    "operator": {"true"},
    "operatorCapabilities": {"basic install", "seamless upgrades", "full lifecycle", "deep insights", "auto pilot"},
    "prerelease": {"true", "false"},
    "containsSecurityUpdates": {"true", "false"},
}
LISTS = {"changes", "images", "crds", "crdsExamples", "links", "recommendations"}
KINDS_OF_CHANGE = {"added", "changed", "deprecated", "removed", "fixed", "security"}


def text_of(name: str) -> str:
    return str(METADATA["annotations"][f"{PREFIX}{name}"])


def listed(name: str) -> list[Any]:
    found = yaml.safe_load(text_of(name))
    assert isinstance(found, list)
    assert found
    return found


def test_the_chart_has_the_version_of_the_repository() -> None:
    version = (ROOT / "VERSION").read_text().strip()
    assert (METADATA["version"], METADATA["appVersion"]) == (version, version)


def test_all_annotations_are_there_with_known_values() -> None:
    assert {name.removeprefix(PREFIX) for name in METADATA["annotations"]} == {*TEXTS, *LISTS}
    for name, known in TEXTS.items():
        value = text_of(name)
        assert (value.lower() if name == "operatorCapabilities" else value) in known
    for change in listed("changes"):
        assert change["kind"] in KINDS_OF_CHANGE
        assert change["description"]
    assert all(link["name"] for link in listed("links"))
    for url in (each["url"] for name in ("links", "recommendations") for each in listed(name)):
        assert urlsplit(url).scheme == "https", url
    assert all(each["url"].startswith("https://artifacthub.io/packages/helm/") for each in listed("recommendations"))


def test_each_kind_has_a_description_and_a_valid_example(penstock_namespace: Namespace) -> None:
    assert [(crd["kind"], crd["name"], crd["version"], crd["description"]) for crd in listed("crds")] == [
        (kind.name, kind.resource, VERSION, kind.description) for kind in KINDS
    ]
    assert all(crd["displayName"] for crd in listed("crds"))
    examples = listed("crdsExamples")
    assert [example["kind"] for example in examples] == [kind.name for kind in KINDS]
    penstock_namespace.client.apply(*examples, dry_run=True)


@pytest.mark.full
def test_the_images_are_those_of_the_chart() -> None:
    images = {image["name"]: image["image"] for image in listed("images")}
    assert images["operator"] == container(render())["image"]
    assert f"--worker-image={images['worker']}" in container(render())["args"]


@pytest.mark.full
def test_only_clusters_before_1_29_are_refused() -> None:
    outcome = helm("template", str(CHART), "--kube-version=1.28.0")
    assert outcome.returncode != 0
    assert "chart requires kubeVersion: >=1.29.0-0" in outcome.stderr
    for version in ("1.29.0", "1.30.3-gke.100", "1.34.4+k3s1", "1.36.0"):
        assert container(render(f"--kube-version={version}"))["image"]
