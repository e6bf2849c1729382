"""From a pydantic model to the structural schema that the API server wants.

Knows both dialects: JSON Schema as pydantic writes it, with references, titles and nulls, and Kubernetes' OpenAPI
subset, which has none of them. Does not know any kind. Called by definition.py.
"""

from typing import Any, cast

from penstock_operator.resources.part import Part

Schema = dict[str, Any]

NAMED = ("properties", "patternProperties")
"""Keywords below which the keys are names that people chose, not keywords."""
UNWANTED = ("title", "$defs")


def structural_schema(model: type[Part]) -> Schema:
    """Return the model's schema as a CustomResourceDefinition takes it."""
    schema = model.model_json_schema(by_alias=True, mode="validation")
    return cast("Schema", _translate(schema, schema.get("$defs", {})))


def _translate(node: Any, definitions: Schema) -> Any:  # noqa: ANN401 - JSON is anything
    if isinstance(node, list):
        return [_translate(part, definitions) for part in node]
    if not isinstance(node, dict):
        return node
    node = _without_null(_resolved(node, definitions))
    translated = {key: _value(key, value, definitions) for key, value in node.items() if key not in UNWANTED}
    return _in_dialect(translated)


def _value(key: str, value: Any, definitions: Schema) -> Any:  # noqa: ANN401 - JSON is anything
    if key in NAMED:
        return {name: _translate(schema, definitions) for name, schema in value.items()}
    if key == "default":
        return _without_nulls(value)
    if key in ("enum", "required"):
        return value
    if key == "description":
        return " ".join(value.split())
    return _translate(value, definitions)


def _without_nulls(default: Any) -> Any:  # noqa: ANN401 - JSON is anything
    """Leave out of a default what pydantic writes as null or empty: for the API server, that is a field left out."""
    if not isinstance(default, dict):
        return default
    kept = {name: _without_nulls(value) for name, value in default.items()}
    return {name: value for name, value in kept.items() if value not in (None, [], {})}


def _resolved(node: Schema, definitions: Schema) -> Schema:
    """Put what is referred to in the reference's place; what is said beside the reference is more particular."""
    reference = node.get("$ref")
    if reference is None:
        return node
    beside = {key: value for key, value in node.items() if key != "$ref"}
    return {**definitions[reference.rpartition("/")[2]], **beside}


def _without_null(node: Schema) -> Schema:
    """Turn "X or null, null by default" into a field that may be left out."""
    choices = node.get("anyOf", [])
    if {"type": "null"} not in choices:
        return node
    [choice] = [choice for choice in choices if choice != {"type": "null"}]
    beside = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
    return {"$choice": choice, **beside}


def _in_dialect(node: Schema) -> Schema:
    choice = node.pop("$choice", {})
    node = {**choice, **node}
    if node.get("additionalProperties") is False:
        del node["additionalProperties"]  # the API server prunes unknown fields, and kubectl refuses them
    if node.get("additionalProperties") is True:
        del node["additionalProperties"]
        node["x-kubernetes-preserve-unknown-fields"] = True
    if node.get("properties") == {}:
        del node["properties"]  # of a part that passes through as a whole
    if "const" in node:
        node["enum"] = [node.pop("const")]
    if node.get("type") == "integer":
        node["format"] = "int64"
    if node.get("default") in ([], {}):
        del node["default"]  # as good as left out, and objects stay as people wrote them
    node.pop("propertyNames", None)
    return node
