"""Who leads a stream or consumer, and how far its replicas have got.

Knows the `cluster` object that both have in their info. Does not know whose it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from penstock_jetstream.core.facts import Facts
from penstock_jetstream.core.times import NANOSECONDS_PER_SECOND


@dataclass(frozen=True, slots=True)
class Replica:
    """A server that follows the leader."""

    name: str
    is_current: bool
    is_offline: bool
    active_seconds: float
    """How long ago the leader heard of it."""
    lag: int
    """Entries that it has not applied yet."""

    @classmethod
    def read(cls, facts: Facts) -> Self:
        return cls(
            name=facts.text("name"),
            is_current=facts.flag("current"),
            is_offline=facts.flag("offline"),
            active_seconds=facts.number("active", 0) / NANOSECONDS_PER_SECOND,
            lag=facts.number("lag", 0),
        )


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """The servers that hold something. On a single server there is only a leader."""

    name: str
    leader: str | None
    """None while an election is going on."""
    leader_since: datetime | None
    replicas: tuple[Replica, ...]
    """The others."""
    raw: Mapping[str, Any]

    @classmethod
    def read(cls, facts: Facts) -> Self:
        return cls(
            name=facts.text("name", ""),
            leader=facts.text("leader", "") or None,
            leader_since=facts.time("leader_since"),
            replicas=tuple(Replica.read(each) for each in facts.objects("replicas")),
            raw=facts.raw,
        )
