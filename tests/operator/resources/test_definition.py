"""Every CustomResourceDefinition keeps to Kubernetes' conventions, and the API server takes it as it is."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from penstock_operator.constants import VERSION
from penstock_operator.resources import KINDS, Kind, definition
from tests.testbed.kubernetes.access import Access

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def schemas(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each schema below one, with the way to it."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from schemas(inner, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from schemas(schema[keyword], f"{path}[]")


def fields(kind: Kind) -> list[tuple[str, dict[str, Any]]]:
    properties = definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return [field for part in ("spec", "status") for field in schemas(properties[part], part)]


@every_kind
def test_the_api_server_accepts_it_without_complaint(penstock_plane: Access, kind: Kind) -> None:
    crd = json.loads(penstock_plane.kubectl("get", f"crd/{kind.resource}", "--output=json"))
    conditions = {condition["type"]: condition for condition in crd["status"]["conditions"]}
    assert conditions["Established"]["status"] == "True"
    assert conditions["NamesAccepted"]["status"] == "True"
    assert "NonStructuralSchema" not in conditions
    assert crd["spec"]["versions"][0]["subresources"] == {"status": {}}


@every_kind
def test_everything_has_a_limit(kind: Kind) -> None:
    limits = {"string": {"maxLength", "enum", "format"}, "array": {"maxItems"}}
    unlimited = [path for path, schema in fields(kind) if not limits.get(schema["type"], {*schema}) & {*schema}]
    maps = [path for path, schema in fields(kind) if "additionalProperties" in schema and "maxProperties" not in schema]
    assert unlimited + maps == []


@every_kind
def test_every_field_says_what_it_is(kind: Kind) -> None:
    assert [path for path, schema in fields(kind) if not path.endswith("[]") and not schema.get("description")] == []


@every_kind
def test_no_field_is_a_fraction(kind: Kind) -> None:
    assert [path for path, schema in fields(kind) if schema["type"] == "number"] == []


@every_kind
def test_conditions_are_a_map_by_type(kind: Kind) -> None:
    [conditions] = [schema for path, schema in fields(kind) if path == "status.conditions"]
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    assert "observedGeneration" in conditions["items"]["required"]


@every_kind
def test_kubectl_explain_shows_the_description_and_the_version(penstock_plane: Access, kind: Kind) -> None:
    said = penstock_plane.kubectl("explain", f"{kind.plural}.spec")
    assert f"VERSION:    {VERSION}" in said
    assert str(kind.spec.__doc__).strip() in said
