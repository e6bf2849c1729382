"""What separates a desired configuration from the actual one, and which of it an update can change.

Knows that many ways to write a configuration mean the same, and that the server fills in what is omitted. Does not know
what to do about a difference (update.py).
"""

from dataclasses import dataclass

from typing_extensions import override

from penstock_jetstream.config.facts import NO_FACTS, Facts
from penstock_jetstream.config.field import UNKNOWN, Change, Config, Field
from penstock_jetstream.config.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field that is not as desired. `obstacle` tells why no update can change it; it is empty where one can."""

    field: str
    desired: object
    """As given, or the server's default."""
    actual: object
    obstacle: str = ""

    @override
    def __str__(self) -> str:
        told = f"{self.field}: {self.actual!r} is to be {self.desired!r}."
        return f"{told} {self.obstacle}" if self.obstacle else told


def diff(
    table: Table, desired: Config, actual: Config, facts: Facts = NO_FACTS, *, given_only: bool = False
) -> list[Difference]:
    """Return the differences in the order of the table; fields that the table does not know come last.

    What is omitted is desired to be what is sent in its place, or the server's default; with `given_only` it is not
    compared at all.
    """
    completed = carry(table, table.complete(desired), actual)
    wanted, present = table.effective(completed, facts), table.effective(actual, facts)
    differences = []
    for field in table.fields:
        if field.name in table.apart or (given_only and not _is_given(field, desired)):
            continue
        old, new = present[field.name], wanted[field.name]
        if old != new and UNKNOWN not in (old, new):
            change = Change(old=old, new=new, actual=actual, desired=completed, facts=facts)
            differences.append(_difference(field, change))
    return differences + _unknown_fields(table, desired, actual)


def carry(table: Table, desired: Config, actual: Config) -> Config:
    """Return what is desired, with what an update must not lose by omission."""
    kept = {name: actual[name] for name in table.kept if actual.get(name) and not desired.get(name)}
    return {**desired, **kept}


def _is_given(field: Field, config: Config) -> bool:
    return config.get(field.name) is not None


def _difference(field: Field, change: Change) -> Difference:
    return Difference(
        field=field.name,
        desired=_shown(field, change.desired, change.facts),
        actual=_shown(field, change.actual, change.facts),
        obstacle=field.mutability.obstacle(change),
    )


def _shown(field: Field, config: Config, facts: Facts) -> object:
    given = config.get(field.name)
    return field.default_in(config, facts) if field.type.canonical(given) is None else given


def _unknown_fields(table: Table, desired: Config, actual: Config) -> list[Difference]:
    """Compare what only a newer server knows, as it is written. What is omitted stays as it is."""
    return [
        Difference(field=name, desired=value, actual=actual.get(name))
        for name, value in desired.items()
        if table.field(name) is None and value != actual.get(name)
    ]
