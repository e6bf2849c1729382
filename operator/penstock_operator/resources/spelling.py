"""How values are spelt on either side: 1h and 3600000000000, WorkQueue and workqueue, 25 and "25%".

Knows the types of the server's fields, and which of our types stands for each. Does not know any field by name.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, cast

from penstock_jetstream.config import Derived, Field, values
from penstock_operator.resources.part import Part
from penstock_operator.resources.scalars import duration_of, nanoseconds, size_bytes, size_of
from penstock_operator.resources.server import Counterpart, counterparts

Json = Any
"""Whatever JSON can hold."""


def config_of(part: Part, fields: tuple[Field, ...], always: Mapping[str, object]) -> dict[str, Json]:
    """Return what a part says, as the server has it.

    What is the server's default anyway is left out, so that older servers are not told of fields that they do not know;
    what is in `always` is said nevertheless.
    """
    config = {}
    for each in counterparts(type(part), fields):
        given = getattr(part, each.attribute)
        told = to_server(each, given) if given else None  # to a server, false and empty are as good as left out
        if each.server.name in always or not _is_default(each.server, told):
            config[each.server.name] = told
    return config


def spec_of(config: Mapping[str, Json], part: type[Part], fields: tuple[Field, ...]) -> dict[str, Json]:
    """Return the fields of a part, camelCase, that say what a configuration says; defaults of either are left out."""
    spec = {}
    for each in counterparts(part, fields):
        told = config.get(each.server.name)
        is_absent = told is None or each.server.type.canonical(told) is None
        spelt = None if is_absent else from_server(each, told)
        if spelt not in (None, each.default):
            spec[each.alias] = spelt
    return spec


def to_server(each: Counterpart, value: Json) -> Json:
    """Spell the value of a field as the server does."""
    if isinstance(value, list):
        return [_one_to_server(_element(each), item) for item in value]
    return _one_to_server(each.server.type, value)


def from_server(each: Counterpart, value: Json) -> Json:
    """Spell the server's value of a field as manifests do."""
    if isinstance(each.server.type, values.ListOf):
        return [_one_from_server(each, each.server.type.of, item) for item in value]
    return _one_from_server(each, each.server.type, value)


def _element(each: Counterpart) -> values.Type:
    return cast("values.ListOf", each.server.type).of


def _is_default(field: Field, value: Json) -> bool:
    if value is None:
        return True
    given = field.type.canonical(value)
    fixed = not isinstance(field.default, Derived)
    return given is None or (fixed and given == field.type.canonical(field.default))


def _one_to_server(kind: values.Type, value: Json) -> Json:
    match kind:
        case values.Record():
            return config_of(value, kind.fields, always={})
        case values.Duration():
            return nanoseconds(value)
        case values.Choice():
            return next(name for name in kind.names if _folded(name) == _folded(value))
        case values.Percentage():
            return f"{value}%"
        case values.Whole() if isinstance(value, str):
            return size_bytes(value)
        case _:
            return value


def _one_from_server(each: Counterpart, kind: values.Type, value: Json) -> Json:
    match kind:
        case values.Record():
            return spec_of(value, cast("type[Part]", each.part), kind.fields)
        case values.Duration():
            return duration_of(value)
        case values.Choice():
            return _choice(each, value)
        case values.Labels():
            return {name: text for name, text in value.items() if not name.startswith(values.RESERVED_PREFIX)}
        case _:
            return _plain(each, value)


def _plain(each: Counterpart, value: Json) -> Json:
    match each.server.type:
        case values.Percentage():
            return int(value.removesuffix("%"))
        case values.Whole() if str in each.types:
            return size_of(value)
        case _:
            return value


def _choice(each: Counterpart, name: str) -> str:
    """Return our word for a choice; for one that only a newer server knows, what ours would be."""
    [choice] = [kind for kind in each.types if issubclass(kind, StrEnum)]
    ours = (str(member) for member in choice if _folded(member) == _folded(name))
    return next(ours, "".join(word.capitalize() for word in name.split("_")))


def _folded(word: str) -> str:
    return word.replace("_", "").lower()
