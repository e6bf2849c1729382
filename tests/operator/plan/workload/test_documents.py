"""Manifests in the docs are valid for the models, for the workload planner and for an API server."""

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
    """Yield each YAML document with its page and position."""
    for page in pages:
        for found in re.finditer(r"^```yaml\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL):
            for document in yaml.safe_load_all(found[1]):
                yield f"{page}, {found.start()}", document


ALL = tuple(blocks(tuple(sorted(page.name for page in DOCS.glob("*.md")))))
MANIFESTS = [
    each for each in ALL if "kind" in each[1] and "name" in each[1].get("metadata", {}) and "apiVersion" in each[1]
]
FRAGMENTS = [(place, block.get("spec", block)) for place, block in blocks(OF_GROUPS) if "kind" not in block]


def test_fragment_of_a_queue_group_plans_a_workload(subtests: pytest.Subtests) -> None:
    for place, fragment in FRAGMENTS:
        with subtests.test(place):
            name = fragment.get("handler", {}).get("configMapRef", {"name": "code"})["name"]
            found = asked(group(**fragment), code=Code(name, "0"))
            assert isinstance(found, Workload), found


def test_api_server_accepts_the_manifests(penstock_namespace: Namespace, subtests: pytest.Subtests) -> None:
    known = [(place, manifest) for place, manifest in MANIFESTS if not manifest["apiVersion"].startswith(OF_OTHERS)]
    assert len(known) > 2
    for place, manifest in known:
        with subtests.test(place):
            penstock_namespace.client.create(manifest, dry_run=True)
