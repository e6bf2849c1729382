"""What the servers said last of each declared object, as little of it as is needed to notice that it has changed.

Knows how two answers are compared. Does not know what a change means. Kept by reconciler.py, compared by reading.py.
"""

import json
from dataclasses import dataclass
from enum import Enum

from penstock_operator.plan.declared import Identity
from penstock_operator.plan.surroundings import Missing, Observed, Present


class Change(Enum):
    """How what a server says differs from what it said last."""

    NONE = "nothing, or nothing is expected to be said"
    FACTS = "live facts only"
    OBJECT = "its configuration, or whether it exists"


@dataclass(frozen=True, slots=True)
class Print:
    """A print of an answer; equal answers have equal ones, in this process."""

    config: int
    facts: int


class Seen:
    """The last answers, by the object that they are about."""

    def __init__(self) -> None:
        self._prints: dict[Identity, Print] = {}
        self._missing_since: dict[Identity, float] = {}

    def note(self, identity: Identity, observed: Observed | None) -> None:
        """Keep an answer in mind; None, and one that tells nothing, is forgotten."""
        print_ = _print(observed)
        if print_ is None:
            self._prints.pop(identity, None)
        else:
            self._prints[identity] = print_

    def forget(self, identity: Identity) -> None:
        self._prints.pop(identity, None)
        self._missing_since.pop(identity, None)

    def missing_seconds(self, identity: Identity, observed: Observed, now: float) -> float:
        """Return for how long each look has found it missing."""
        if isinstance(observed, Missing):
            return now - self._missing_since.setdefault(identity, now)
        self._missing_since.pop(identity, None)
        return 0.0

    def __contains__(self, identity: Identity) -> bool:
        return identity in self._prints

    def change(self, identity: Identity, observed: Observed) -> Change:
        """Compare an answer with the last. Nothing is expected of an object that nobody has asked for yet."""
        before, now = self._prints.get(identity), _print(observed)
        if before is None or now is None or before == now:
            return Change.NONE
        return Change.FACTS if before.config == now.config else Change.OBJECT


def _print(observed: Observed | None) -> Print | None:
    match observed:
        case Present(config, facts):
            return Print(_hash(config), _hash(facts))
        case Missing():
            return Print(0, 0)
        case _:
            return None


def _hash(value: object) -> int:
    return hash(json.dumps(value, sort_keys=True, default=str))
