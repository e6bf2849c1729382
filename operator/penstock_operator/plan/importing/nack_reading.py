"""Reads parts of NACK's manifests into what the server would be sent, by tables: their field, the server's, the type.

Knows the spellings of Go and of NACK. Does not know any field. What cannot be read becomes a remark, and is left out.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_UNITS = "|".join(sorted(NANOSECONDS, key=len, reverse=True))
_PART = re.compile(rf"([0-9]+)(?:\.([0-9]+))?({_UNITS})")
_DURATION = re.compile(rf"(?:[0-9]+(?:\.[0-9]+)?(?:{_UNITS}))+")


class UnreadableError(ValueError):
    """A value that NACK would not take either; the text says what it should be."""


@dataclass(frozen=True, slots=True)
class To:
    """What a field of NACK's is to the server."""

    field: str
    """The server's name; with a dot in it, a field of a part."""
    read: Callable[[Any], Any]
    """From NACK's value to the server's; None is nothing."""


Table = Mapping[str, To]


def read(table: Table, given: Mapping[str, Any], remarks: list[str], path: str = "spec") -> dict[str, Any]:
    """Return what the server would be sent for the fields of the table; remark on all others."""
    config: dict[str, Any] = {}
    for name, value in given.items():
        if name not in table:
            remarks.append(f"{path}.{name} is not a field that NACK knows; it is left out.")
            continue
        try:
            result = None if value is None else table[name].read(value)
        except UnreadableError as problem:
            remarks.append(f"{path}.{name} is left out, as NACK could not use it: {problem}")
            continue
        if result is not None:
            _put(config, table[name].field, result)
    return config


def _put(config: dict[str, Any], field: str, value: Any) -> None:  # noqa: ANN401 - JSON
    part, _, rest = field.partition(".")
    if rest:
        _put(config.setdefault(part, {}), rest, value)
    else:
        config[part] = value


def text(value: object) -> str | None:
    """An empty text is none, to NACK as to the server."""
    if not isinstance(value, str):
        raise UnreadableError(f"{value!r} is not a text.")
    return value or None


def number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not float(value).is_integer():
        raise UnreadableError(f"{value!r} is not a whole number.")
    return int(value)


def number_unless_0(value: object) -> int | None:
    return number(value) or None


def flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise UnreadableError(f"{value!r} is neither true nor false.")
    return value


def texts(value: object) -> list[str] | None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UnreadableError(f"{value!r} is not a list of texts.")
    return value or None


def labels(value: object) -> dict[str, str] | None:
    if not isinstance(value, dict) or not all(isinstance(part, str) for pair in value.items() for part in pair):
        raise UnreadableError(f"{value!r} is not a map of texts.")
    return value or None


def duration(value: object) -> int | None:
    """Return the nanoseconds of a duration as Go spells it, such as 1h30m or 1.5s."""
    if value == "":
        return None
    if value == "0":
        return 0
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        raise UnreadableError(f"{value!r} is not a duration such as 90s, 5m or 1h30m (days are not known to Go).")
    return sum(_nanoseconds(*match) for match in _PART.findall(value))


def _nanoseconds(whole: str, fraction: str, unit: str) -> int:
    return int(whole + fraction) * NANOSECONDS[unit] // int(10 ** len(fraction))


def durations(value: object) -> list[int] | None:
    if not isinstance(value, list):
        raise UnreadableError(f"{value!r} is not a list of durations.")
    return [duration(item) or 0 for item in value] or None


def percentage(value: object) -> str | None:
    """Return "50%" for 50 and 50%, of which NACK's older mode takes the first only."""
    if value == "":
        return None
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,3}%?", value):
        raise UnreadableError(f"{value!r} is not a percentage such as 50 or 50%.")
    return f"{int(value.removesuffix('%'))}%"


def choice(*options: str, **renamed: str) -> Callable[[object], str | None]:
    """Take one of the options; those with another name on the server are given by keyword."""
    known = {option: option for option in options} | renamed

    def take(value: object) -> str | None:
        if value == "":
            return None
        if not isinstance(value, str) or value not in known:
            raise UnreadableError(f"{value!r} is none of {', '.join(known)}.")
        return known[value]

    return take


def part(table: Table) -> Callable[[object], dict[str, Any] | None]:
    """Read a part by a table of its own, where every field has to be right."""

    def take(value: object) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            raise UnreadableError(f"{value!r} is not an object.")
        remarks: list[str] = []
        config = read(table, value, remarks, path="in it")
        if remarks:
            raise UnreadableError(" ".join(remarks))
        return config or None

    return take


def parts(table: Table) -> Callable[[object], list[dict[str, Any]] | None]:
    take = part(table)

    def take_all(value: object) -> list[dict[str, Any]] | None:
        if not isinstance(value, list):
            raise UnreadableError(f"{value!r} is not a list.")
        return [found for item in value if (found := take(item))] or None

    return take_all
