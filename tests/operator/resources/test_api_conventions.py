"""Every CustomResourceDefinition keeps to Kubernetes' API conventions, and the API server accepts it unchanged."""

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from penstock_operator.constants import CATEGORY, VERSION
from penstock_operator.resources import KINDS, Kind, definition
from tests.testbed.kubernetes.access import Access, KubectlError
from tests.testbed.waiting import eventually

Schema = dict[str, Any]
LIMITS = {"string": {"maxLength", "enum", "format"}, "array": {"maxItems"}}
OBJECT_NAME = "^[a-z0-9]([-a-z0-9]*"
"""How the pattern of a Kubernetes object's name begins."""


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


# Each convention yields what breaks it.


def everything_has_a_limit(kind: Kind) -> Iterator[str]:
    yield from (path for path, schema in fields(kind) if not LIMITS.get(schema["type"], {*schema}) & {*schema})
    for path, schema in fields(kind):
        if "additionalProperties" in schema and "maxProperties" not in schema:
            yield path


def every_field_has_a_description_in_sentences(kind: Kind) -> Iterator[str]:
    said = {path: schema.get("description", "") for path, schema in fields(kind) if not path.endswith("[]")}
    yield from (path for path, text in said.items() if not re.fullmatch(r"[^\n]*[.?]", text))


def every_field_has_a_name_in_camel_case(kind: Kind) -> Iterator[str]:
    names = [name for path, _ in fields(kind) for name in path.removesuffix("[]").split(".")]
    yield from (name for name in names if not re.fullmatch(r"[a-z][A-Za-z0-9]*(\[\])*", name))


def no_field_is_a_fraction(kind: Kind) -> Iterator[str]:
    yield from (path for path, schema in fields(kind) if schema["type"] == "number")


def a_boolean_is_a_question(kind: Kind) -> Iterator[str]:
    questions = {path: schema["description"] for path, schema in fields(kind, "spec") if schema["type"] == "boolean"}
    yield from (path for path, text in questions.items() if not text.startswith("Whether "))


def choices_are_in_camel_case(kind: Kind) -> Iterator[str]:
    choices = [choice for _, schema in fields(kind) for choice in schema.get("enum", ())]
    yield from (choice for choice in choices if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", choice))


def another_object_is_named_in_a_reference(kind: Kind) -> Iterator[str]:
    named = [path for path, schema in fields(kind) if str(schema.get("pattern")).startswith(OBJECT_NAME)]
    yield from (path for path in named if not re.search(r"Ref\.(name|namespace)$", path))
    references = kind.spec.model_fields.keys() & {"connection_ref", "stream_ref", "consumer_ref"}
    yield from () if named else references


def the_default_of_an_object_has_the_defaults_of_its_fields(kind: Kind) -> Iterator[str]:
    for path, schema in fields(kind):
        if "properties" in schema and "default" in schema:
            inside = {name: inner["default"] for name, inner in schema["properties"].items() if "default" in inner}
            if schema["default"] != inside:
                yield path


def a_field_with_a_default_is_not_required(kind: Kind) -> Iterator[str]:
    for path, schema in fields(kind):
        defaulted = {name for name, inner in schema.get("properties", {}).items() if "default" in inner}
        yield from (f"{path}.{name}" for name in defaulted & {*schema.get("required", ())})


def every_path_leads_to_a_field(kind: Kind) -> Iterable[str]:
    paths = [column["jsonPath"] for column in version(kind)["additionalPrinterColumns"]]
    paths += [selectable["jsonPath"] for selectable in version(kind).get("selectableFields", ())]
    paths += version(kind)["subresources"].get("scale", {}).values()
    plain = {path for path in paths if "[?" not in path and not path.startswith(".metadata.")}
    return plain - {f".{path}" for path, _ in fields(kind)}


def objects_can_be_selected_by_what_they_refer_to(kind: Kind) -> Iterable[str]:
    selectable = {field["jsonPath"] for field in version(kind).get("selectableFields", ())}
    references = {path for path, _ in fields(kind, "spec") if re.fullmatch(r"spec\.[a-z]+Ref\.name", path)}
    return {f".{path}" for path in references} - selectable


CONVENTIONS: list[Callable[[Kind], Iterable[str]]] = [
    everything_has_a_limit,
    every_field_has_a_description_in_sentences,
    every_field_has_a_name_in_camel_case,
    no_field_is_a_fraction,
    a_boolean_is_a_question,
    choices_are_in_camel_case,
    another_object_is_named_in_a_reference,
    the_default_of_an_object_has_the_defaults_of_its_fields,
    a_field_with_a_default_is_not_required,
    every_path_leads_to_a_field,
    objects_can_be_selected_by_what_they_refer_to,
]


def test_every_kind_keeps_to_the_conventions(subtests: pytest.Subtests) -> None:
    for convention in CONVENTIONS:
        for kind in KINDS:
            with subtests.test(convention.__name__, kind=kind.name):
                assert list(convention(kind)) == []


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


def test_kubectl_knows_short_names_and_the_category(penstock_plane: Access) -> None:
    listed = penstock_plane.kubectl("api-resources", "--no-headers", "--output=wide").splitlines()
    ours = [line.split() for line in listed if line.split()[-1] == CATEGORY]
    shown = {(line[0], line[1], kind.name) for line in ours for kind in KINDS if kind.name in line}
    assert shown == {(kind.plural, ",".join(kind.short_names), kind.name) for kind in KINDS}


@pytest.mark.full
def test_kubectl_explain_shows_the_description_and_the_version(
    penstock_plane: Access, subtests: pytest.Subtests
) -> None:
    for kind in KINDS:
        with subtests.test(kind.name):
            explain = functools.partial(penstock_plane.kubectl, "explain", f"{kind.plural}.spec")
            said = eventually(explain, "the API server documents the kind", not_yet=(KubectlError,))
            assert f"VERSION:    {VERSION}" in said
            assert " ".join(str(kind.spec.__doc__).split()) in " ".join(said.split())
