"""The chart's values: each has an effect, each is in the schema and in the README, and invalid ones are refused."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.operator.chart.rendering import CHART, helm, render_all
from tests.testbed.kubernetes.client import Object
from tools.values import VALUES, rows

DEFAULTS = yaml.safe_load(VALUES.read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
SAMPLES = yaml.safe_load((Path(__file__).parent / "samples.yaml").read_text())
ALL_ON = {path: True for path in SAMPLES if path.startswith(("networkPolicy", "metrics")) and path.endswith("enabled")}
NEEDS = {
    "serviceAccount.create": ["serviceAccount.name"],
    "podDisruptionBudget.maxUnavailable": ["replicas"],
    "metrics.service.enabled": ["metrics.serviceMonitor.enabled"],
}
"""What else must be set for a value to have an effect."""


@cache
def rendered(*changed: str) -> list[Object]:
    values = ALL_ON | {path: SAMPLES[path] for path in changed}
    return render_all(*(f"--set-json={path}={json.dumps(value)}" for path, value in values.items()))


def leaves(values: Object, prefix: str = "") -> Iterator[str]:
    """Yield the path of each value; an empty map is one, and so are quantities and labels."""
    for key, value in values.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict) and value and path not in SAMPLES:
            yield from leaves(value, f"{path}.")
        else:
            yield path


def fields(schema: Object, prefix: str = "") -> Iterator[str]:
    for key, described in schema["properties"].items():
        resolved = resolve(described)
        if "properties" in resolved:
            yield from fields(resolved, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def parts(schema: Object) -> Iterator[Object]:
    yield schema
    for described in (*schema.get("properties", {}).values(), *schema.get("definitions", {}).values()):
        yield from parts(described)
    if isinstance(schema.get("items"), dict):
        yield from parts(schema["items"])


def resolve(described: Object) -> Object:
    reference = described.get("$ref")
    found = SCHEMA["definitions"][reference.rpartition("/")[2]] if reference else described
    assert isinstance(found, dict)
    return found


@pytest.mark.full
@pytest.mark.timeout(900)  # Helm renders the chart sixty times
def test_each_value_has_an_effect(subtests: pytest.Subtests) -> None:
    for path in SAMPLES:
        with subtests.test(path):
            needed = NEEDS.get(path, [])
            assert rendered(*needed, path) != rendered(*needed)


def test_the_schema_has_exactly_the_values_that_have_defaults() -> None:
    helms_own, of_pods = {"global"}, {"resources.claims"}
    assert set(leaves(DEFAULTS)) == set(SAMPLES)
    assert set(fields(SCHEMA)) - helms_own - of_pods == set(SAMPLES)


def test_no_part_of_the_schema_allows_unknown_fields() -> None:
    open_parts = [
        part for part in parts(SCHEMA) if "properties" in part and part.get("additionalProperties") is not False
    ]
    assert open_parts == []


def test_the_readme_has_each_value_with_its_default() -> None:
    documented = {row.path: yaml.safe_load(row.default) for row in rows(VALUES.read_text()) if row.default}
    assert set(documented) == set(SAMPLES)
    for path, default in documented.items():
        found: Any = DEFAULTS
        for key in path.split("."):
            found = found[key]
        assert default == found, path


INVALID = {
    "replicas=6": "maximum: got 6, want 5",
    "lease.durationSeconds=1": "minimum: got 1, want 3",
    "topologySpread.whenUnsatisfiable=Never": "value must be one of 'ScheduleAnyway', 'DoNotSchedule'",
    "metrics.alerts.enabled=please": "got string, want boolean",
    "worker.podSecurity=none": "value must be one of 'restricted', 'baseline', 'privileged'",
    "tests.nats.url=nats://me:secret@nats:4222": "does not match pattern",
    "networkPolicy.natsPorts[0]=0": "minimum: got 0, want 1",
    "imgae.tag=1": "additional properties 'imgae' not allowed",
    "logFormat=xml": "value must be one of 'json', 'text'",
    "image.digest=latest": "does not match pattern",
    "namespaces=orders": "got string, want array",
    "crds.install=maybe": "got string, want boolean",
    "serviceAccount.create=false": "name one that is there, in serviceAccount.name",
}


@pytest.mark.full
def test_invalid_values_are_refused(subtests: pytest.Subtests) -> None:
    for value, complaint in INVALID.items():
        with subtests.test(value):
            outcome = helm("template", str(CHART), f"--set={value}")
            assert outcome.returncode != 0
            assert complaint in outcome.stderr
