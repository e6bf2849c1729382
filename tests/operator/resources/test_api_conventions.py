"""Every CustomResourceDefinition keeps to Kubernetes' API conventions, and the API server accepts it unchanged."""

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from penstock_operator.constants import CATEGORY, VERSION
from penstock_operator.resources import KINDS, Kind, definition
from tests.testbed.kubernetes.access import Access

Schema = dict[str, Any]
LIMITS = {"string": {"maxLength", "enum", "format"}, "array": {"maxItems"}}


def schemas(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    """Yield each schema below one, with its path."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from schemas(inner, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from schemas(schema[keyword], f"{path}[]")


@functools.cache
def version(kind: Kind) -> Schema:
    [only] = definition(kind)["spec"]["versions"]
    return dict(only)


@functools.cache
def fields(kind: Kind, *parts: str) -> list[tuple[str, Schema]]:
    properties = version(kind)["schema"]["openAPIV3Schema"]["properties"]
    return [field for part in parts or ("spec", "status") for field in schemas(properties[part], part)]


def names_an_object(schema: Schema) -> bool:
    """Tell whether it has the pattern of a Kubernetes object's name."""
    return str(schema.get("pattern")).startswith("^[a-z0-9]([-a-z0-9]*")


def fields_against_conventions(kind: Kind) -> Iterator[str]:
    for path, schema in fields(kind):
        type_, description = schema["type"], schema.get("description", "")
        names = path.removesuffix("[]").split(".")
        inner = schema.get("properties", {})
        defaults = {name: each["default"] for name, each in inner.items() if "default" in each}
        conventions = {
            "It has a limit.": LIMITS.get(type_, {*schema}) & {*schema},
            "A mapping has a limit.": "additionalProperties" not in schema or "maxProperties" in schema,
            "Its description consists of sentences.": path.endswith("[]") or re.fullmatch(r"[^\n]*[.?]", description),
            "Its name is in camel case.": all(re.fullmatch(r"[a-z][A-Za-z0-9]*(\[\])*", name) for name in names),
            "It is not a fraction.": type_ != "number",
            "A boolean is a question.": type_ != "boolean"
            or names[0] == "status"
            or description.startswith("Whether "),
            "Choices are in camel case.": all(
                re.fullmatch(r"[A-Z][A-Za-z0-9]*", each) for each in schema.get("enum", ())
            ),
            "Another object is named in a reference.": not names_an_object(schema)
            or re.search(r"Ref\.(name|namespace)$", path),
            "Its default has the defaults of its fields.": not inner or schema.get("default", defaults) == defaults,
            "A field with a default is not required.": not defaults.keys() & {*schema.get("required", ())},
        }
        yield from (f"{path}: {sentence}" for sentence, holds in conventions.items() if not holds)


def test_every_field_keeps_to_the_conventions(subtests: pytest.Subtests) -> None:
    for kind in KINDS:
        with subtests.test(kind.name):
            assert list(fields_against_conventions(kind)) == []


def test_every_path_leads_to_a_field_and_objects_can_be_selected_by_what_they_refer_to(
    subtests: pytest.Subtests,
) -> None:
    for kind in KINDS:
        with subtests.test(kind.name):
            known = {f".{path}" for path, _ in fields(kind)}
            selectable = {field["jsonPath"] for field in version(kind).get("selectableFields", ())}
            columns = {column["jsonPath"] for column in version(kind)["additionalPrinterColumns"]}
            paths = columns | selectable | {*version(kind)["subresources"].get("scale", {}).values()}
            assert {path for path in paths if "[?" not in path and not path.startswith(".metadata.")} <= known
            references = {path for path in known if re.fullmatch(r"\.spec\.[a-z]+Ref\.name", path)}
            assert references <= selectable
            assert not references or any(names_an_object(schema) for _, schema in fields(kind, "spec"))


def test_status_is_optional_and_has_conditions_by_type_and_no_phase(subtests: pytest.Subtests) -> None:
    for kind in KINDS:
        with subtests.test(kind.name):
            schema = version(kind)["schema"]["openAPIV3Schema"]
            assert schema["required"] == ["spec"]
            assert "status" in version(kind)["subresources"]
            assert "required" not in schema["properties"]["status"]
            assert "default" not in json.dumps(list(schema["properties"]["status"]["properties"]))
            status = dict(fields(kind, "status"))
            assert "status.phase" not in status
            assert "status.observedGeneration" in status
            conditions = status["status.conditions"]
            assert conditions["x-kubernetes-list-type"] == "map"
            assert conditions["x-kubernetes-list-map-keys"] == ["type"]
            assert "observedGeneration" in conditions["items"]["required"]


def test_api_server_accepts_every_definition_and_keeps_all_of_it(
    penstock_plane: Access, subtests: pytest.Subtests
) -> None:
    for kind in KINDS:
        with subtests.test(kind.name):
            crd = penstock_plane.client.get(f"crd/{kind.resource}")
            conditions = {condition["type"]: condition for condition in crd["status"]["conditions"]}
            assert conditions["Established"]["status"] == "True"
            assert conditions["NamesAccepted"]["status"] == "True"
            assert "NonStructuralSchema" not in conditions
            assert crd["spec"]["versions"] == [version(kind)]
            assert version(kind)["name"] == VERSION
            shown_by_kubectl_explain = dict(fields(kind, "spec"))["spec"]["description"]
            assert shown_by_kubectl_explain.split() == str(kind.spec.__doc__).split()


def test_kubectl_knows_short_names_and_the_category(penstock_plane: Access) -> None:
    listed = penstock_plane.kubectl("api-resources", "--no-headers", "--output=wide").splitlines()
    ours = [line.split() for line in listed if line.split()[-1] == CATEGORY]
    shown = {(line[0], line[1], kind.name) for line in ours for kind in KINDS if kind.name in line}
    assert shown == {(kind.plural, ",".join(kind.short_names), kind.name) for kind in KINDS}
