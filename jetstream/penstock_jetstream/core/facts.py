"""Reading what a server says in JSON: a name that is missing or of another type is an error that says where.

Knows JSON objects. Does not know what they are about: the views (stream_info.py and its like) do. Each view keeps its
object as it came, so that fields which this library has never heard of survive.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from penstock_jetstream.core.times import utc
from penstock_jetstream.errors import ProtocolError

_SHOWN_LETTERS = 80
_NEVER_SET = "0001-01-01T00:00:00Z"
"""What Go writes for a time that nobody set."""
_KINDS: Mapping[type, str] = {
    str: "a string",
    int: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}
_Value = TypeVar("_Value", str, int, bool, dict[str, Any], list[Any])
_SMALLEST, _LARGEST = -(1 << 63), (1 << 64) - 1


class Facts:
    """One JSON object, and what it is of, for the errors. What is null counts as not there, as it does in Go."""

    __slots__ = ("of", "raw")

    def __init__(self, raw: Mapping[str, Any], of: str) -> None:
        self.raw = raw
        self.of = of

    def __contains__(self, name: str) -> bool:
        return self.raw.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        return self._typed(name, str, default)

    def number(self, name: str, default: int | None = None) -> int:
        number = self._typed(name, int, default)
        if not _is_number(number):
            raise self._wrong(name, int)
        return number

    def flag(self, name: str) -> bool:
        """Return true or false: Go leaves false ones out."""
        return self._typed(name, bool, default=False)

    def time(self, name: str) -> datetime | None:
        """Return a time; None where there is none, or nobody set it."""
        text = self.text(name, "")
        return None if text in ("", _NEVER_SET) else utc(text, f"{name} of {self.of}")

    def object(self, name: str) -> "Facts":
        return Facts(self._typed(name, dict, None), f"{name} of {self.of}")

    def optional(self, name: str) -> "Facts | None":
        return self.object(name) if name in self else None

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return an object whose names are not known beforehand; empty where there is none."""
        return self._typed(name, dict, {})

    def objects(self, name: str) -> Iterator["Facts"]:
        """Return the objects of a list; none where there is no list."""
        for index, entry in enumerate(self._typed(name, list, [])):
            if not isinstance(entry, dict):
                raise self._wrong(name, list, "of objects")
            yield Facts(entry, f"{name}[{index}] of {self.of}")

    def texts(self, name: str) -> list[str]:
        """Return the strings of a list; none where there is no list."""
        entries = self._typed(name, list, [])
        if not all(isinstance(entry, str) for entry in entries):
            raise self._wrong(name, list, "of strings")
        return entries

    def numbers(self, name: str) -> list[int]:
        """Return the numbers of a list; none where there is no list."""
        entries = self._typed(name, list, [])
        if not all(_is_number(entry) for entry in entries):
            raise self._wrong(name, list, "of numbers")
        return entries

    def _typed(self, name: str, kind: type[_Value], default: _Value | None) -> _Value:
        value = self.raw.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, kind):
            raise self._wrong(name, kind)
        return value

    def _wrong(self, name: str, kind: type, addition: str = "") -> ProtocolError:
        if name not in self:
            return ProtocolError(f"The server left out {name} of {self.of}.")
        shown = json.dumps(self.raw[name], default=str)[:_SHOWN_LETTERS]
        return ProtocolError(
            f"The server said {shown} for {name} of {self.of}: not {_KINDS[kind]} {addition}".rstrip() + "."
        )


def _is_number(value: object) -> bool:
    """Tell whether it is a whole number that fits where servers keep them; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool) and _SMALLEST <= value <= _LARGEST


def parse(payload: bytes, of: str) -> Facts:
    """Take a reply apart, which must be a JSON object."""
    try:
        raw = json.loads(payload)
    except (ValueError, RecursionError) as problem:
        raise ProtocolError(f"The server's {of} is not JSON: {payload[:_SHOWN_LETTERS]!r}.") from problem
    if not isinstance(raw, dict):
        raise ProtocolError(f"The server's {of} is not a JSON object: {payload[:_SHOWN_LETTERS]!r}.")
    return Facts(raw, of)
