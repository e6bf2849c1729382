"""Every CustomResourceDefinition keeps to Kubernetes' API conventions, and the API server takes it as it is.

Some of it only an API server can tell: what rules may cost, and whether a schema is structural.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from penstock_operator.constants import CATEGORY, VERSION
from penstock_operator.resources import KINDS, Kind, definition
from tests.testbed.kubernetes.access import Access

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)

LIMITS = {"string": {"maxLength", "enum", "format"}, "array": {"maxItems"}}
OF_METADATA = "metadata"


def schemas(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each schema below one, with the way to it."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from schemas(inner, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from schemas(schema[keyword], f"{path}[]")


def version(kind: Kind) -> dict[str, Any]:
    [only] = definition(kind)["spec"]["versions"]
    return dict(only)


def fields(kind: Kind, *parts: str) -> list[tuple[str, dict[str, Any]]]:
    properties = version(kind)["schema"]["openAPIV3Schema"]["properties"]
    return [field for part in parts or ("spec", "status") for field in schemas(properties[part], part)]


@every_kind
def test_the_api_server_accepts_it_without_complaint_and_keeps_all_of_it(penstock_plane: Access, kind: Kind) -> None:
    crd = json.loads(penstock_plane.kubectl("get", f"crd/{kind.resource}", "--output=json"))
    conditions = {condition["type"]: condition for condition in crd["status"]["conditions"]}
    assert conditions["Established"]["status"] == "True"
    assert conditions["NamesAccepted"]["status"] == "True"
    assert "NonStructuralSchema" not in conditions
    assert crd["spec"]["versions"] == [version(kind)]


@every_kind
def test_everything_has_a_limit(kind: Kind) -> None:
    unlimited = [path for path, schema in fields(kind) if not LIMITS.get(schema["type"], {*schema}) & {*schema}]
    maps = [path for path, schema in fields(kind) if "additionalProperties" in schema and "maxProperties" not in schema]
    assert unlimited + maps == []


@every_kind
def test_every_field_says_in_sentences_what_it_is(kind: Kind) -> None:
    said = {path: schema.get("description", "") for path, schema in fields(kind) if not path.endswith("[]")}
    assert [path for path, text in said.items() if not re.fullmatch(r"[^\n]*[.?]", text)] == []


@every_kind
def test_every_field_has_a_name_in_camel_case(kind: Kind) -> None:
    names = [name for path, _ in fields(kind) for name in path.removesuffix("[]").split(".")]
    assert [name for name in names if not re.fullmatch(r"[a-z][A-Za-z0-9]*(\[\])*", name)] == []


@every_kind
def test_no_field_is_a_fraction(kind: Kind) -> None:
    assert [path for path, schema in fields(kind) if schema["type"] == "number"] == []


@every_kind
def test_what_is_true_or_false_is_a_question_and_no_mode(kind: Kind) -> None:
    questions = {path: schema["description"] for path, schema in fields(kind, "spec") if schema["type"] == "boolean"}
    assert [path for path, text in questions.items() if not text.startswith("Whether ")] == []


@every_kind
def test_choices_are_in_camel_case(kind: Kind) -> None:
    choices = [(path, choice) for path, schema in fields(kind) for choice in schema.get("enum", ())]
    assert [choice for choice in choices if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", choice[1])] == []


@every_kind
def test_what_names_another_object_is_a_reference(kind: Kind) -> None:
    of_objects = [
        path for path, schema in fields(kind) if str(schema.get("pattern")).startswith("^[a-z0-9]([-a-z0-9]*")
    ]
    assert of_objects or kind.spec.model_fields.keys().isdisjoint({"connection_ref", "stream_ref", "consumer_ref"})
    assert [path for path in of_objects if not re.search(r"Ref\.(name|namespace)$", path)] == []


@every_kind
def test_the_default_of_an_object_says_what_the_defaults_inside_say(kind: Kind) -> None:
    for path, schema in fields(kind):
        if "properties" in schema and "default" in schema:
            inside = {name: inner["default"] for name, inner in schema["properties"].items() if "default" in inner}
            assert schema["default"] == inside, path


@every_kind
def test_what_has_a_default_is_not_asked_for(kind: Kind) -> None:
    for path, schema in fields(kind):
        defaulted = {name for name, inner in schema.get("properties", {}).items() if "default" in inner}
        assert defaulted.isdisjoint(schema.get("required", ())), path


@every_kind
def test_the_status_may_be_missing_and_so_may_all_that_is_in_it(kind: Kind) -> None:
    schema = version(kind)["schema"]["openAPIV3Schema"]
    assert schema["required"] == ["spec"]
    assert "required" not in schema["properties"]["status"]
    assert "default" not in json.dumps(list(schema["properties"]["status"]["properties"]))
    assert "status" in version(kind)["subresources"]


@every_kind
def test_conditions_are_a_map_by_type_and_there_is_no_phase(kind: Kind) -> None:
    status = dict(fields(kind, "status"))
    conditions = status["status.conditions"]
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    assert "observedGeneration" in conditions["items"]["required"]
    assert "status.phase" not in status
    assert "status.observedGeneration" in status


@every_kind
def test_every_path_leads_to_a_field(kind: Kind) -> None:
    known = {f".{path}" for path, _ in fields(kind)}
    paths = [column["jsonPath"] for column in version(kind)["additionalPrinterColumns"]]
    paths += [selectable["jsonPath"] for selectable in version(kind).get("selectableFields", ())]
    paths += version(kind)["subresources"].get("scale", {}).values()
    plain = [path for path in paths if "[?" not in path and not path.startswith(f".{OF_METADATA}.")]
    assert set(plain) <= known


@every_kind
def test_the_objects_that_refer_to_one_of_ours_can_be_asked_for(kind: Kind) -> None:
    selectable = {field["jsonPath"] for field in version(kind).get("selectableFields", ())}
    references = {path for path, _ in fields(kind, "spec") if re.fullmatch(r"spec\.[a-z]+Ref\.name", path)}
    assert selectable >= {f".{path}" for path in references}


@every_kind
def test_kubectl_get_shows_whether_it_is_ready_why_and_since_when_it_exists(kind: Kind) -> None:
    shown = [column["name"] for column in version(kind)["additionalPrinterColumns"] if not column.get("priority")]
    assert shown[:2] == ["Ready", "Reason"]
    assert shown[-1] == "Age"


@every_kind
def test_it_can_be_named_in_short_and_together_with_the_others(penstock_plane: Access, kind: Kind) -> None:
    [line] = [
        line.split()
        for line in penstock_plane.kubectl("api-resources", "--no-headers", "--output=wide").splitlines()
        if line.split()[-1] == CATEGORY and kind.name in line.split()
    ]
    assert line[:2] == [kind.plural, ",".join(kind.short_names)]


@every_kind
def test_kubectl_explain_shows_the_description_and_the_version(penstock_plane: Access, kind: Kind) -> None:
    said = penstock_plane.kubectl("explain", f"{kind.plural}.spec")
    assert f"VERSION:    {VERSION}" in said
    assert " ".join(str(kind.spec.__doc__).split()) in " ".join(said.split())
