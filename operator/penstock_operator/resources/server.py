"""What a field of a spec is called on the server: the one table between the two spellings, written at the fields.

Knows how the mark is put and found. What the server's field is (its type, default, since when, whether it can change)
stands in the tables of penstock_jetstream.config.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from penstock_jetstream.config import Field
from penstock_operator.resources.part import Part


@dataclass(frozen=True, slots=True)
class Server:
    """Marks a field of a part with the name of the server's field that it becomes."""

    field: str


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A field of a part, and what it is on the server."""

    attribute: str
    alias: str
    """As manifests have it."""
    default: Any
    """Of the spec: visible in its schema. None where the server's default holds."""
    types: tuple[type, ...]
    """What the value may be, or what the values of a list may be."""
    server: Field

    @property
    def part(self) -> type[Part] | None:
        """The part that the value is, or that the values of a list are."""
        return next((each for each in self.types if issubclass(each, Part)), None)


_found: dict[type[Part], tuple[Counterpart, ...]] = {}
"""What was found out about a part before: a part always has the same fields, and thousands of specs are of one part."""


def counterparts(part: type[Part], fields: tuple[Field, ...]) -> tuple[Counterpart, ...]:
    """Return the fields of a part that have one on the server, in the part's order."""
    if part not in _found:
        _found[part] = tuple(_counterparts(part, {field.name: field for field in fields}))
    return _found[part]


def _counterparts(part: type[Part], known: Mapping[str, Field]) -> Iterator[Counterpart]:
    for attribute, declared in part.model_fields.items():
        for mark in declared.metadata:
            if isinstance(mark, Server):
                yield Counterpart(
                    attribute=attribute,
                    alias=str(declared.alias),
                    default=declared.get_default(call_default_factory=False),
                    types=tuple(_types_in(declared.annotation)),
                    server=known[mark.field],
                )


def _types_in(annotation: Any) -> Iterator[type]:  # noqa: ANN401 - whatever a field is declared as
    arguments = get_args(annotation)
    if not arguments and isinstance(annotation, type):
        yield annotation
    for argument in arguments:
        yield from _types_in(argument)
