"""A table: all fields of one kind of object, and what goes beyond single fields.

Knows how the parts stand together, and what a configuration comes down to once the server has filled in the rest. Does
not know streams or consumers: stream.py and consumer.py each fill one table.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock_jetstream.config.facts import Facts
from penstock_jetstream.config.field import UNKNOWN, Config, Field
from penstock_jetstream.config.problem import Problem

Rule = Callable[[Any, Facts], Iterable[Problem]]
"""A judgement of several fields together. It sees only fields whose value is of the right type and in
range, so it takes a configuration as typed.py has it."""

Effective = dict[str, object]
"""A canonical value for each field: what the server makes of a configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    kind: str
    """What the configuration is of: stream or consumer."""
    fields: tuple[Field, ...]
    rules: tuple[Rule, ...]
    force: Callable[[Effective], None]
    """Changes what the server changes whatever was given, where one setting brings others with it."""
    kept: frozenset[str]
    """What an update that does not give it leaves as it is, where the server would do harm instead."""
    apart: frozenset[str]
    """What no update changes: the server has requests of their own for these."""
    always_sent: Mapping[str, object]
    """What this library says where a configuration is silent, as the server's own default is not safe."""

    def field(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)

    def complete(self, config: Config) -> dict[str, object]:
        """Return the configuration as it is sent."""
        silent = {name: value for name, value in self.always_sent.items() if config.get(name) in (None, "")}
        return {**config, **silent}

    def effective(self, config: Config, facts: Facts) -> Effective:
        """Return what the server makes of a configuration: omitted, -1, 0 and false are told apart no more."""
        filled: Effective = {}
        for field in self.fields:
            given = field.type.canonical(config.get(field.name))
            filled[field.name] = self._default(field, config, facts) if given is None else given
        self.force(filled)
        return filled

    @staticmethod
    def _default(field: Field, config: Config, facts: Facts) -> object:
        default = field.default_in(config, facts)
        return UNKNOWN if default is UNKNOWN else field.type.canonical(default)
