"""The types of configuration values: what each may be, and when two ways to write one mean the same.

Knows JSON values as the server reads them: its decoder takes the zero of a type (0, "", [], false, null) for an absent
field, everywhere. Does not know fields: field.py names them and says what their absence means.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock_jetstream.config.levels import level_that_has
from penstock_jetstream.config.times import instant

if TYPE_CHECKING:
    from penstock_jetstream.config.field import Field

RESERVED_PREFIX = "_nats."
"""Metadata that the server writes for itself."""

_LARGEST = 2**63 - 1
MILLISECOND, SECOND, MINUTE = 10**6, 10**9, 60 * 10**9
"""In nanoseconds, as all durations are."""


@dataclass(frozen=True, slots=True)
class Text:
    """A string, bounded in UTF-8 bytes where the server bounds it."""

    max_bytes: int | None = None

    def fault(self, value: object) -> str:
        if not isinstance(value, str):
            return "must be a string"
        if self.max_bytes is not None and len(value.encode("utf-8", "surrogatepass")) > self.max_bytes:
            return f"must have at most {self.max_bytes} bytes"
        return ""

    def canonical(self, value: object) -> Hashable:
        return _plain(value) or None


@dataclass(frozen=True, slots=True)
class Percentage:
    """A share from 0 to 100 as a string, with or without the sign: "25%"."""

    def fault(self, value: object) -> str:
        digits = value.removesuffix("%") if isinstance(value, str) else ""
        valid = value == "" or (digits.isdecimal() and digits.isascii() and len(digits) <= 3 and int(digits) <= 100)  # noqa: PLR2004 - per cent
        return "" if valid else 'must be a string from "0%" to "100%"'

    def canonical(self, value: object) -> Hashable:
        return value.removesuffix("%").lstrip("0") or None if isinstance(value, str) else _plain(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A whole number. Where `unlimited`, -1, 0 and absence all mean that there is no limit."""

    minimum: int = 0
    maximum: int = _LARGEST
    unlimited: bool = False

    def fault(self, value: object) -> str:
        if not isinstance(value, int) or isinstance(value, bool):
            return "must be a whole number"
        lowest = -1 if self.unlimited else self.minimum
        if lowest <= value <= self.maximum:
            return ""
        meaning = " (-1 is no limit)" if self.unlimited else ""
        return f"must be at least {lowest}{meaning}" if value < lowest else f"must be at most {self.maximum}"

    def canonical(self, value: object) -> Hashable:
        if isinstance(value, int) and value < 0:
            return None if self.unlimited or self.minimum == 0 else -1
        return _plain(value) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """A whole number of nanoseconds; 0 is absence. `minimum` is of what is not 0."""

    minimum: int = 0

    def fault(self, value: object) -> str:
        if not isinstance(value, int) or isinstance(value, bool):
            return "must be a whole number of nanoseconds"
        if not 0 <= value <= _LARGEST:
            return "must not be negative" if value < 0 else f"must be at most {_LARGEST} nanoseconds"
        if 0 < value < self.minimum:
            return f"must be at least {self.minimum} nanoseconds ({shown_duration(self.minimum)})"
        return ""

    def canonical(self, value: object) -> Hashable:
        return None if isinstance(value, int) and value <= 0 else _plain(value)


@dataclass(frozen=True, slots=True)
class Flag:
    """A boolean. Servers may leave a false one out of their answers."""

    def fault(self, value: object) -> str:
        return "" if isinstance(value, bool) else "must be true or false"

    def canonical(self, value: object) -> Hashable:
        return _plain(value) or None


@dataclass(frozen=True, slots=True)
class Time:
    """A moment as RFC 3339."""

    def fault(self, value: object) -> str:
        valid = isinstance(value, str) and instant(value)
        return "" if valid else 'must be a time as RFC 3339 has it, such as "2026-01-31T12:00:00Z"'

    def canonical(self, value: object) -> Hashable:
        moment = instant(value) if isinstance(value, str) else None
        if moment is None:
            return _plain(value) or None
        return moment if any(moment) else None


@dataclass(frozen=True, slots=True)
class Option:
    """One of the values of a choice."""

    name: str
    meaning: str
    since: str = "2.2"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several words."""

    options: tuple[Option, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(option.name for option in self.options)

    def fault(self, value: object) -> str:
        return "" if value in self.names else f"must be one of {', '.join(self.names)}"

    def level(self, value: object) -> int:
        """Return the API level that a value needs."""
        return max((level_that_has(option.since) for option in self.options if option.name == value), default=0)

    def canonical(self, value: object) -> Hashable:
        return _plain(value) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf:
    """A list. Where order means nothing, two lists are equal in any order."""

    of: "Type"
    ordered: bool = True

    def fault(self, value: object) -> str:
        return "" if isinstance(value, list | tuple) else "must be a list"

    def canonical(self, value: object) -> Hashable:
        if not isinstance(value, list | tuple):
            return _plain(value) or None
        items = [self.of.canonical(item) for item in value]
        return tuple(items if self.ordered else sorted(items, key=repr)) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Strings by name, with a bound on all of them together. What the server adds for itself does not count."""

    max_bytes: int

    def fault(self, value: object) -> str:
        if not isinstance(value, Mapping) or not all(isinstance(text, str) for pair in value.items() for text in pair):
            return "must map strings to strings"
        size_bytes = sum(len(text.encode("utf-8", "surrogatepass")) for pair in value.items() for text in pair)
        return "" if size_bytes <= self.max_bytes else f"has {size_bytes} bytes; at most {self.max_bytes} are allowed"

    def canonical(self, value: object) -> Hashable:
        if not isinstance(value, Mapping):
            return _plain(value) or None
        own = [(str(key), _plain(text)) for key, text in value.items() if not str(key).startswith(RESERVED_PREFIX)]
        return tuple(sorted(own, key=repr)) or None


@dataclass(frozen=True, slots=True)
class Record:
    """An object with fields of its own."""

    fields: tuple["Field", ...]

    def fault(self, value: object) -> str:
        return "" if isinstance(value, Mapping) else "must be an object"

    def canonical(self, value: object) -> Hashable:
        if not isinstance(value, Mapping):
            return _plain(value) or None
        parts = {field.name: field.type.canonical(value.get(field.name)) for field in self.fields}
        if not any(part is not None for part in parts.values()):
            return None
        unset = {field.name: field.type.canonical(field.default) for field in self.fields}
        known = [(name, unset[name] if part is None else part) for name, part in parts.items()]
        unknown = [(str(name), _plain(part)) for name, part in value.items() if name not in parts]
        return tuple(known + sorted(unknown))


Type = Text | Percentage | Whole | Duration | Flag | Time | Choice | ListOf | Labels | Record


def shown_duration(nanoseconds: int) -> str:
    """Write a duration for people: "2 min", "1.5 s", "100 ms"."""
    for size, unit in ((MINUTE, "min"), (SECOND, "s")):
        if nanoseconds >= size and nanoseconds % (size // 10) == 0:
            return f"{nanoseconds / size:g} {unit}"
    return f"{nanoseconds / MILLISECOND:g} ms"


def _plain(value: object) -> str | float | None:
    """Return what can be compared and hashed, for a value of any type, right or wrong."""
    if value is None or isinstance(value, str | int | float):
        return value
    return repr(value)
