"""What was decided about an object: what to do on the server, what to say about it, and when to look again.

Knows the shapes of decisions. Does not decide (reconcile.py does), nor carry out (services do).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any

from penstock_jetstream.config import Difference
from penstock_operator.plan.reasons import Reason


@dataclass(frozen=True, slots=True)
class Create:
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Update:
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recreate:
    """Delete it, with what it holds, and make it anew."""

    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delete:
    pass


@dataclass(frozen=True, slots=True)
class Pause:
    """Let a consumer deliver nothing before this time, or deliver again: the server has a request of its own for it."""

    until: str | None
    """RFC 3339; None: deliver again."""


Action = Create | Update | Recreate | Delete | Pause


class Finalizer(Enum):
    """What is to be done about our finalizer, and when."""

    AS_IS = "as is"
    ADD_FIRST = "add, before anything is made on the server"
    REMOVE = "remove, after the action, if there is one, has succeeded"


class ConditionType(StrEnum):
    READY = "Ready"
    SYNCED = "Synced"
    DRIFTED = "Drifted"
    REACHABLE = "Reachable"
    WARNING = "Warning"
    AVAILABLE = "Available"
    SCALING = "Scaling"
    CIRCUIT_OPEN = "CircuitOpen"
    MESSAGES_EXPIRED = "MessagesExpired"
    MESSAGES_GIVEN_UP = "MessagesGivenUp"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A condition without its times."""

    type: ConditionType
    status: str
    """True, False or Unknown."""
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Note:
    """An event, to be told after what it tells of has happened."""

    reason: Reason
    message: str
    is_warning: bool = False


class Next(Enum):
    """When to look at the object again, if nothing that it depends on changes before."""

    AT_ONCE = "at once: the action was one step of two"
    SOON = "in a moment, when a deletion by somebody else is over"
    AT_THE_PERIOD = "with all others, when the servers are read"
    AFTER_BACKOFF = "after a delay that grows with each failure"
    WHEN_IT_CHANGES = "when itself, or what it waits for, changes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One step. `verdicts` and `notes` hold if the action succeeds, or if there is none."""

    action: Action | None = None
    finalizer: Finalizer = Finalizer.AS_IS
    differences: tuple[Difference, ...] = ()
    losses: tuple[str, ...] = ()
    """What the action takes away from the server at once, as sentences, for those who read a plan before it is done."""
    verdicts: tuple[Verdict, ...] = ()
    notes: tuple[Note, ...] = ()
    next: Next = Next.AT_THE_PERIOD
    leaves: bool = False
    """Whether it is about the place where the object was until now: the action happens there, and after it the object
    is no more where it was."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an action did not succeed, as a sentence, and whether it may if it is tried again as it is."""

    reason: Reason
    message: str
    passing: bool
    err_code: int | None = field(default=None, compare=False)
    """The server's own code, if it refused. Nothing is decided by it: it is counted."""
