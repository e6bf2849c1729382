"""The reference of every field, as a Markdown document: what people may write, and what it becomes on the server.

Knows where all that is to be said stands: types, limits, defaults, meanings and rules in a kind's schema, and of the
server's fields since when they are there and whether they can change in the tables of penstock_jetstream.config. Does
not know any field. Called by the command line.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from penstock_jetstream.config import CONSUMER, STREAM, Field, Free, Never, OneWay, values
from penstock_operator.resources.definition import definition
from penstock_operator.resources.kind import Kind
from penstock_operator.resources.part import VALIDATIONS, Part
from penstock_operator.resources.references import LabelValue, NamespaceName, ObjectName
from penstock_operator.resources.scalars import Duration, Size
from penstock_operator.resources.schema import Schema
from penstock_operator.resources.server import counterparts


def _pattern(scalar: Any) -> str:  # noqa: ANN401 - an annotated type
    [pattern] = [mark.pattern for mark in scalar.__metadata__ if hasattr(mark, "pattern")]
    return str(pattern)


HEADER = """\
<!-- Generated from penstock_operator.resources by `make crds`; edits are overwritten. -->
# Every field of every kind

All kinds are of `{api_version}`. A field may be left out unless it is marked as required; where no default stands, the
meaning says what holds then. What breaks a rule is refused by `kubectl apply` and by `penstock`, with the sentence that
stands here.

- **duration**: {duration}
- **size**: {size}
"""
SERVER_TABLES = {"Stream": STREAM.fields, "Consumer": CONSUMER.fields}
SCALARS = {"duration": Duration, "size": Size}
"""Types whose rule is said once, at the top."""
NAMES = {
    _pattern(ObjectName): "name of a Kubernetes object",
    _pattern(NamespaceName): "name of a namespace",
    _pattern(LabelValue): "value of a label",
}
"""Texts whose pattern everybody who uses Kubernetes knows."""
PARTS = ("spec", "status")
HEADINGS = ("field", "type", "default", "meaning")
SERVER_HEADINGS = ("on the server", "since", "can change")
MOST_LETTERS_SHOWN = 80
"""A longer pattern says less than its field's meaning does."""


def reference(kinds: tuple[Kind, ...], api_version: str) -> str:
    """Return the document."""
    words = {name: _sentence(scalar) for name, scalar in SCALARS.items()}
    chapters = [HEADER.format(api_version=api_version, **words), *map(_chapter, kinds)]
    return "\n".join(chapters)


def server_fields(kind: Kind) -> dict[str, Field]:
    """Return the server's field for each field of a kind's spec that has one, named as in spec.sources[].name."""
    return dict(_server_fields(kind.spec, SERVER_TABLES.get(kind.name, ()), "spec"))


def _server_fields(part: type[Part], fields: tuple[Field, ...], path: str) -> Iterator[tuple[str, Field]]:
    for each in counterparts(part, fields):
        here = f"{path}.{each.alias}"
        yield here, each.server
        is_list = isinstance(each.server.type, values.ListOf)
        inner = each.server.type.of if isinstance(each.server.type, values.ListOf) else each.server.type
        if each.part and isinstance(inner, values.Record):
            yield from _server_fields(each.part, inner.fields, f"{here}[]" if is_list else here)


def _sentence(scalar: Any) -> str:  # noqa: ANN401 - an annotated type
    [rule] = [mark for mark in scalar.__metadata__ if hasattr(mark, "sentence")]
    return str(rule.sentence)


def _chapter(kind: Kind) -> str:
    [version] = definition(kind)["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    server = server_fields(kind)
    short = ", ".join(f"`{name}`" for name in kind.short_names)
    sections = [f"## {kind.name}\n\n{kind.description} For kubectl: `{kind.plural}`, {short}.\n"]
    sections += [_rules(schema)] if VALIDATIONS in schema else []
    for part in PARTS:
        sections += _sections(schema["properties"][part], part, server)
    return "\n".join(sections)


def _sections(schema: Schema, path: str, server: Mapping[str, Field]) -> Iterator[str]:
    """Yield a section for an object and for each object in it."""
    yield f"### {path}\n\n{schema['description']}\n"
    yield _table(schema, path, server)
    if VALIDATIONS in schema:
        yield _rules(schema)
    for name, inner in schema["properties"].items():
        is_list = inner["type"] == "array"
        within = inner["items"] if is_list else inner
        if "properties" in within:
            told = {"description": inner["description"], **within} if is_list else inner
            yield from _sections(told, f"{path}.{name}[]" if is_list else f"{path}.{name}", server)


def _rules(schema: Schema) -> str:
    return "\n".join(f"- {rule['message']}" for rule in schema[VALIDATIONS]) + "\n"


def _table(schema: Schema, path: str, server: Mapping[str, Field]) -> str:
    has_server = any(f"{path}.{name}" in server for name in schema["properties"])
    headings = HEADINGS + SERVER_HEADINGS if has_server else HEADINGS
    rows = [
        chain(_row(name, inner, name in schema.get("required", ())), _told(server.get(f"{path}.{name}"), has_server))
        for name, inner in schema["properties"].items()
    ]
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(_cell(text) for text in line)} |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _row(name: str, schema: Schema, is_required: bool) -> Iterator[str]:  # noqa: FBT001 - a fact of the field
    yield f"`{name}`{' (required)' if is_required else ''}"
    yield _type(schema)
    yield _default(schema)
    yield " ".join([schema["description"], *_said_of_the_value(schema)])


def _default(schema: Schema) -> str:
    if "default" not in schema or "properties" in schema:
        return ""
    default = schema["default"]
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _said_of_the_value(schema: Schema) -> list[str]:
    """Return the rules of a field that are not what its type says anyway."""
    known = {_sentence(scalar) for scalar in SCALARS.values()}
    rules = () if "properties" in schema else schema.get(VALIDATIONS, ())
    return [rule["message"] for rule in rules if rule["message"] not in known]


def _type(schema: Schema) -> str:
    match schema["type"]:
        case "array":
            least = f"{schema['minItems']} to " if "minItems" in schema else "at most "
            return f"list of {least}{schema['maxItems']}: {_type(schema['items'])}"
        case "string":
            return _text(schema)
        case "integer":
            return " ".join(["number", *_range(schema)])
        case "boolean":
            return "`true` or `false`"
        case _:
            return _object(schema)


def _object(schema: Schema) -> str:
    if "additionalProperties" in schema:
        return f"map of at most {schema['maxProperties']}: {_type(schema['additionalProperties'])}"
    return "object, any further field" if "x-kubernetes-preserve-unknown-fields" in schema else "object"


def _text(schema: Schema) -> str:
    said = {rule["message"] for rule in schema.get(VALIDATIONS, ())}
    named = [name for name, scalar in SCALARS.items() if _sentence(scalar) in said]
    if named:
        return named[0]
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    if schema.get("format") == "date-time":
        return "time"
    pattern = schema.get("pattern", "")
    if pattern in NAMES:
        return NAMES[pattern]
    shown = f", `{pattern}`" if pattern and len(pattern) <= MOST_LETTERS_SHOWN else ""
    return f"text of at most {schema['maxLength']} letters{shown}"


def _range(schema: Schema) -> Iterator[str]:
    if "minimum" in schema:
        yield f"from {schema['minimum']}"
    if "maximum" in schema:
        yield f"to {schema['maximum']}"


def _told(field: Field | None, has_server: bool) -> tuple[str, ...]:  # noqa: FBT001 - a fact of the table
    """Return what the server's field says of itself."""
    if not has_server:
        return ()
    return ("", "", "") if field is None else (f"`{field.name}`", field.since, _can_change(field))


def _can_change(field: Field) -> str:
    match field.mutability:
        case Free(note=note):
            return f"yes. {note}" if note else "yes"
        case Never():
            return "no"
        case OneWay(to=to):
            return "once, on" if to else "once, off"
        case special:
            return f"not freely. {special.why}"
