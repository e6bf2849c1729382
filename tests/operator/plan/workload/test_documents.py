"""What the docs show of queue groups is taken as it stands there: by models, by what makes pods, by an API server."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from penstock_operator.plan.workload import Code, Workload
from tests.operator.plan.workload.workloads import Json, asked, group
from tests.testbed.kubernetes.access import Namespace

DOCS = Path(__file__).parents[4] / "docs"
OF_GROUPS = ("bigger-spark.md", "scaling.md", "workers.md")
OF_OTHERS = "keda.sh/"


def blocks(pages: tuple[str, ...]) -> Iterator[tuple[str, Json]]:
    """Yield what is in YAML, each with its page and its place there."""
    for page in pages:
        for found in re.finditer(r"^```yaml\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL):
            for document in yaml.safe_load_all(found[1]):
                yield f"{page}, {found.start()}", document


ALL = tuple(blocks(tuple(sorted(page.name for page in DOCS.glob("*.md")))))
MANIFESTS = [
    each for each in ALL if "kind" in each[1] and "name" in each[1].get("metadata", {}) and "apiVersion" in each[1]
]
FRAGMENTS = [(place, block.get("spec", block)) for place, block in blocks(OF_GROUPS) if "kind" not in block]


@pytest.mark.parametrize("fragment", [each for _, each in FRAGMENTS], ids=[place for place, _ in FRAGMENTS])
def test_a_part_of_a_queue_group_makes_one_with_pods(fragment: Json) -> None:
    name = fragment.get("handler", {}).get("configMapRef", {"name": "code"})["name"]
    found = asked(group(**fragment), code=Code(name, "0"))
    assert isinstance(found, Workload), found


def test_an_api_server_takes_the_manifests(penstock_namespace: Namespace) -> None:
    known = [manifest for _, manifest in MANIFESTS if not manifest["apiVersion"].startswith(OF_OTHERS)]
    whole = {"apiVersion": "v1", "kind": "List", "items": known}
    said = penstock_namespace.kubectl("create", "--dry-run=server", "--filename=-", stdin=json.dumps(whole))
    assert len(said.splitlines()) == len(known) > 2
