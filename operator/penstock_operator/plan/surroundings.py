"""What is known of the world around a declared object when it is decided what to do about it.

Knows the shapes of such knowledge. Does not know how it is gathered (services do), nor what follows (reconcile.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock_jetstream.config import Facts
from penstock_jetstream.config.facts import NO_FACTS
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.reasons import Reason


@dataclass(frozen=True, slots=True)
class Place:
    """Where on which server an object is: the same place is the same object, whoever declares it."""

    account: str
    """Which JetStream account, domain and servers: equal for Connections that lead to the same."""
    stream: str
    consumer: str = ""
    """Empty for a stream."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that the object depends on is not there, or not ready."""

    reason: Reason
    message: str
    lost: bool = False
    """Whether it is gone for good as far as can be seen: its Connection does not exist any more."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The server says that there is no such object."""


@dataclass(frozen=True, slots=True)
class Present:
    """What the server says of the object."""

    config: Mapping[str, Any]
    """Its configuration, raw."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Live facts for the status, in camelCase: messages, bytes, pending …"""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The server could not be asked, or would not say."""

    reason: Reason
    message: str
    err_code: int | None = field(default=None, compare=False)
    """The server's own code, if it refused. Nothing is decided by it: it is counted."""


Observed = Missing | Present | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """Another place than the one that is declared now: where the object was until now."""

    was: str
    """What it was there, for sentences: stream ORDERS over Connection shop/nats."""
    becomes: str
    """What it is to be, and where."""
    observed: Observed
    holder: Identity | None = None
    """Another object, older, that declares that place."""
    heir: Identity | None = None
    """Another object, younger, that declares that place and has it next."""

    @property
    def is_gone(self) -> bool:
        """Whether nothing is there any more. A consumer goes with its stream."""
        observed = self.observed
        return isinstance(observed, Missing) or (
            isinstance(observed, Unknown) and observed.reason is Reason.STREAM_NOT_FOUND
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """All that a decision about one Stream or Consumer needs, besides itself."""

    obstacle: Waiting | None = None
    """What it waits for. Nothing below is known then."""
    holder: Identity | None = None
    """Another object, older, that declares the same place."""
    heir: Identity | None = None
    """Another object, younger, that declares the same place and has it next: what is there is not for one to delete."""
    observed: Observed = Missing()
    facts: Facts = NO_FACTS
    """What is known of servers, account, and (for a consumer) its stream's configuration."""
    warnings: tuple[str, ...] = ()
    """What a look across objects found (a queue group that a consumer is too narrow for)."""
    missing_seconds: float | None = None
    """How long it has been missing, as far as we have looked; None where nobody keeps count."""
    former: Former | None = None
    """Where the object was until now, if that is another place. All else is about the place that is declared."""
