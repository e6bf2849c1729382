"""A field of a configuration: all that there is to know about it, as data.

Knows the parts of such knowledge. Does not know any field: stream_fields.py and consumer_fields.py list them.
Documents and the schemas of Kubernetes resources are made from these lists, so each meaning is written for the people
who read those.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock_jetstream.config.facts import Facts
from penstock_jetstream.config.levels import level_that_has
from penstock_jetstream.config.values import Type

Config = Mapping[str, object]
"""A configuration as JSON has it."""


class Unknown:
    """In place of a default that depends on what is not known."""


UNKNOWN = Unknown()


@dataclass(frozen=True, slots=True)
class Derived:
    """A default that depends on other fields, or on the surroundings: how in words, and how in deed."""

    sentence: str
    of: Callable[[Config, Facts], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A field that is to change. The values are canonical; the configurations are whole."""

    old: object
    new: object
    actual: Config
    desired: Config
    facts: Facts


@dataclass(frozen=True, slots=True)
class Free:
    """Any update may change it."""

    note: str = ""
    """What an update should know nevertheless."""

    def obstacle(self, change: Change) -> str:  # noqa: ARG002 - as its siblings
        return ""


@dataclass(frozen=True, slots=True)
class Never:
    """It is set when the object is created, for good."""

    def obstacle(self, change: Change) -> str:  # noqa: ARG002 - as its siblings
        return "It is set at creation, for good."


@dataclass(frozen=True, slots=True)
class OneWay:
    """A flag that can be switched once: `to` on (true), never back."""

    to: bool = True

    def obstacle(self, change: Change) -> str:
        return "" if bool(change.new) is self.to else "Once it is on, it stays on."


@dataclass(frozen=True, slots=True)
class Special:
    """Some changes can be made and some cannot; or the server accepts one that has no effect, or does harm."""

    why: str
    forbids: Callable[[Change], bool]

    def obstacle(self, change: Change) -> str:
        return self.why if self.forbids(change) else ""


Mutability = Free | Never | OneWay | Special

FREE, NEVER, ON_FOR_GOOD = Free(), Never(), OneWay()


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field."""

    name: str
    type: Type
    meaning: str
    """One sentence or two, in Markdown."""
    default: object = None
    """What the server stores when it is not given: a value, something Derived, or None for nothing at all."""
    since: str = "2.2"
    """The oldest server that has it."""
    mutability: Mutability = field(default=FREE)
    unit: str = ""
    example: object = None
    internal: bool = False
    """Servers talk to each other with it; users leave it alone."""

    @property
    def level(self) -> int:
        """The API level that it needs."""
        return level_that_has(self.since)

    def default_in(self, config: Config, facts: Facts) -> object:
        """Return what the server would store if a configuration does not give it; UNKNOWN where nobody can tell."""
        return self.default.of(config, facts) if isinstance(self.default, Derived) else self.default
