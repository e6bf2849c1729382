"""How to bring an object from its actual configuration to the desired one: not at all, by one update, or never.

Knows what an update must carry so that it changes nothing else. Does not know requests, or who decides what is desired.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from typing_extensions import override

from penstock_jetstream.config.difference import Difference, carry, diff
from penstock_jetstream.config.facts import NO_FACTS, Facts
from penstock_jetstream.config.field import Config
from penstock_jetstream.config.table import Table
from penstock_jetstream.config.values import RESERVED_PREFIX


@dataclass(frozen=True, slots=True)
class Unchanged:
    """All is as desired: nothing is to be sent."""


@dataclass(frozen=True, slots=True)
class Update:
    """`config` is to be sent, whole, and makes these differences go."""

    config: dict[str, object]
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Impossible:
    """No update leads there: the object would have to be made anew, without what it holds. Nothing is to be sent."""

    differences: tuple[Difference, ...]
    """All of them, those included that could be changed."""

    @property
    def obstacles(self) -> tuple[Difference, ...]:
        return tuple(difference for difference in self.differences if difference.obstacle)

    @override
    def __str__(self) -> str:
        return " ".join(map(str, self.obstacles))


Plan = Unchanged | Update | Impossible


def plan_update(table: Table, desired: Config, actual: Config, facts: Facts = NO_FACTS) -> Plan:
    """Plan how an object that exists becomes as desired. `actual` is what the server answered, as raw JSON."""
    differences = tuple(diff(table, desired, actual, facts))
    if not differences:
        return Unchanged()
    if any(difference.obstacle for difference in differences):
        return Impossible(differences)
    return Update(_to_send(table, desired, actual), differences)


def _to_send(table: Table, desired: Config, actual: Config) -> dict[str, object]:
    """Join what is desired with what must survive: fields of a newer server, and the server's own metadata."""
    newer = {name: value for name, value in actual.items() if table.field(name) is None}
    whole = {**newer, **table.complete(carry(table, desired, actual))}
    metadata = _metadata(desired.get("metadata"), actual.get("metadata"))
    if metadata:
        whole["metadata"] = metadata
    return {name: value for name, value in whole.items() if name not in table.apart and value is not None}


def _metadata(desired: object, actual: object) -> dict[str, object]:
    own = dict(desired) if isinstance(desired, Mapping) else {}
    servers = dict(actual) if isinstance(actual, Mapping) else {}
    return {**own, **{name: text for name, text in servers.items() if str(name).startswith(RESERVED_PREFIX)}}
