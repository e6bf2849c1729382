"""Records as JSON, and back: dataclasses of plain values, as engine, driver and settings file write them.

Knows texts, numbers, switches, enums, tuples, maps and dataclasses in each other. A field that is not known is left
alone, or refused where people write by hand. Says where in the document something is wrong. Opens no files.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


class MalformedError(ValueError):
    """A document is not what it should be; the text says where, and what should stand there."""


def written(record: object) -> bytes:
    """Return a record as JSON."""
    return json.dumps(dataclasses.asdict(cast("Any", record)), ensure_ascii=False, separators=(",", ":")).encode()


def read(kind: type[T], document: bytes | str, *, is_strict: bool = False) -> T:
    """Return a record from JSON. Fields that are left out have their defaults; strict is to refuse unknown ones."""
    try:
        facts = json.loads(document)
    except (ValueError, RecursionError) as problem:
        raise MalformedError(f"It is not JSON: {problem}.") from None
    return cast("T", _value(kind, facts, "", is_strict=is_strict))


def _record(kind: Any, facts: object, place: str, *, is_strict: bool) -> object:  # noqa: ANN401 - any dataclass
    given = _mapping(facts, place)
    hints = _hints(kind)
    if is_strict and (unknown := given.keys() - hints.keys()):
        raise _wrong(place, f"there is no field {min(unknown)!r}; there are {', '.join(hints)}")
    if missing := _required(kind) - given.keys():
        raise _wrong(_inside(place, min(missing)), "it is missing")
    return kind(
        **{
            name: _value(hints[name], value, _inside(place, name), is_strict=is_strict)
            for name, value in given.items()
            if name in hints
        }
    )


def _value(wanted: Any, fact: object, place: str, *, is_strict: bool) -> object:  # noqa: ANN401 - any type hint
    if dataclasses.is_dataclass(wanted):
        return _record(wanted, fact, place, is_strict=is_strict)
    match get_origin(wanted):
        case origin if origin in {Union, UnionType}:
            (inner,) = (each for each in get_args(wanted) if each is not type(None))
            return None if fact is None else _value(inner, fact, place, is_strict=is_strict)
        case origin if origin is tuple:
            return _tuple(get_args(wanted), fact, place, is_strict=is_strict)
        case origin if origin is dict:
            _, inner = get_args(wanted)
            return {
                key: _value(inner, value, _inside(place, key), is_strict=is_strict)
                for key, value in _mapping(fact, place).items()
            }
        case _:
            return _plain(wanted, fact, place)


def _tuple(kinds: tuple[Any, ...], fact: object, place: str, *, is_strict: bool) -> object:
    if not isinstance(fact, Sequence) or isinstance(fact, str):
        raise _wrong(place, f"a list should stand there, not {_shown(fact)}")
    if kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(fact)
    if len(kinds) != len(fact):
        raise _wrong(place, f"it should have {len(kinds)} values, not {len(fact)}")
    pairs = enumerate(zip(kinds, fact, strict=True))
    return tuple(_value(kind, value, f"{place}[{index}]", is_strict=is_strict) for index, (kind, value) in pairs)


def _plain(wanted: Any, fact: object, place: str) -> object:  # noqa: ANN401 - str, int, float, bool or an enum
    if issubclass(wanted, Enum):
        try:
            return wanted(fact)
        except ValueError:
            known = ", ".join(str(each.value) for each in wanted)
            raise _wrong(place, f"{_shown(fact)} is none of {known}") from None
    if wanted is float and type(fact) is int:
        return float(fact)
    if type(fact) is not wanted:
        raise _wrong(place, f"{_NAMES[wanted]} should stand there, not {_shown(fact)}")
    return fact


_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def _mapping(fact: object, place: str) -> Mapping[str, object]:
    if not isinstance(fact, Mapping):
        raise _wrong(place, f"an object should stand there, not {_shown(fact)}")
    return fact


@cache
def _hints(kind: Any) -> Mapping[str, Any]:  # noqa: ANN401 - any dataclass
    return get_type_hints(kind)


@cache
def _required(kind: Any) -> frozenset[str]:  # noqa: ANN401 - any dataclass
    """Return the names of the fields that have no default."""
    nothing = dataclasses.MISSING
    return frozenset(
        field.name
        for field in dataclasses.fields(kind)
        if field.default is nothing and field.default_factory is nothing
    )


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


_SHOWN_LETTERS = 60


def _shown(fact: object) -> str:
    return json.dumps(fact, ensure_ascii=False)[:_SHOWN_LETTERS]


def _wrong(place: str, what: str) -> MalformedError:
    return MalformedError(f"{place or 'The document'}: {what}.")
