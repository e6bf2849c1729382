"""NACK's own manifests, from its module: translated, they are what our models and the API server take."""

import json
from pathlib import Path

import pytest

from penstock_operator.cli.importing import documents_of
from penstock_operator.plan.importing import CommandLine, Imports, from_nack
from penstock_operator.resources import KINDS
from tests.testbed import binaries
from tests.testbed.kubernetes.access import Namespace

ZOO = Path(__file__).parent / "nack" / "zoo.yaml"
FOLDERS = ("deploy/examples", "examples/secure/nack", "tests/stream-creation")


@pytest.fixture(scope="session")
def manifests() -> dict[str, Path]:
    """What there is, by what it is called in a test's name."""
    sources = binaries.nack_sources()
    return {folder: sources / folder for folder in FOLDERS} | {"zoo": ZOO}


def imported(path: Path) -> Imports:
    documents = [document.content for document in documents_of(str(path))]
    return from_nack(documents, CommandLine(servers=("nats://nats:4222",)))


@pytest.mark.parametrize("name", [*FOLDERS, "zoo"])
def test_nacks_own_manifests_are_taken_by_our_models(manifests: dict[str, Path], name: str) -> None:
    kinds = {kind.name: kind for kind in KINDS}
    found = imported(manifests[name])
    assert found.objects
    for each in found.objects:
        kinds[str(each.manifest["kind"])].spec.model_validate(each.manifest["spec"])
        assert not [remark for remark in each.remarks if "refuses" in remark]


@pytest.mark.parametrize("name", [*FOLDERS, "zoo"])
def test_nacks_own_manifests_are_taken_by_the_api_server(
    manifests: dict[str, Path], name: str, penstock_namespace: Namespace
) -> None:
    for each in imported(manifests[name]).objects:
        penstock_namespace.kubectl("create", "--dry-run=server", "--filename=-", stdin=json.dumps(each.manifest))


ENDS = ("is not NACK's; it is left out.", "stands there more than once: what the last says is taken.")


def test_all_that_is_left_out_of_nacks_own_manifests_is_not_nacks_or_said_again(manifests: dict[str, Path]) -> None:
    left_out = [sentence for folder in FOLDERS for sentence in imported(manifests[folder]).left_out]
    assert left_out
    assert all(sentence.endswith(ENDS) for sentence in left_out)
