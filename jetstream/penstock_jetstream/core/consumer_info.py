"""What a server says of a consumer. Only its leader knows (V-10), and only the leader answers.

Knows which facts people and operators look at; all others are in `raw`, also those of servers newer than this library.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from penstock_jetstream.core.cluster_info import ClusterInfo
from penstock_jetstream.core.facts import Facts
from penstock_jetstream.core.times import NANOSECONDS_PER_SECOND


@dataclass(frozen=True, slots=True)
class Position:
    """How far a consumer is, in its own count and in its stream's."""

    consumer_sequence: int
    stream_sequence: int
    last_active: datetime | None

    @classmethod
    def read(cls, facts: Facts) -> Self:
        return cls(
            consumer_sequence=facts.number("consumer_seq"),
            stream_sequence=facts.number("stream_seq"),
            last_active=facts.time("last_active"),
        )


@dataclass(frozen=True, slots=True)
class PriorityGroup:
    """Who is pinned in a group of a consumer, if anyone is (G-14)."""

    name: str
    pinned_id: str | None
    pinned_since: datetime | None

    @classmethod
    def read(cls, facts: Facts) -> Self:
        return cls(
            name=facts.text("group"),
            pinned_id=facts.text("pinned_client_id", "") or None,
            pinned_since=facts.time("pinned_ts"),
        )


@dataclass(frozen=True, slots=True)
class Pause:
    """Whether a consumer delivers, and if not, for how long."""

    is_paused: bool
    until: datetime | None
    remaining_seconds: float

    @classmethod
    def read(cls, facts: Facts) -> Self:
        return cls(
            is_paused=facts.flag("paused"),
            until=facts.time("pause_until"),
            remaining_seconds=facts.number("pause_remaining", 0) / NANOSECONDS_PER_SECOND,
        )


@dataclass(frozen=True, slots=True)
class ConsumerInfo:
    """A consumer's config and state, at one moment."""

    stream: str
    name: str
    config: Mapping[str, Any]
    """As the server stores it: with its defaults, in its own field names."""
    created: datetime | None
    delivered: Position
    ack_floor: Position
    """All up to here are acknowledged."""
    num_pending: int
    """Messages that match and were not delivered yet: the lag."""
    num_ack_pending: int
    """Delivered, and not acknowledged. At max_ack_pending nothing new is delivered."""
    num_redelivered: int
    num_waiting: int
    """Pulls that wait for messages."""
    is_push_bound: bool
    pause: Pause
    priority_groups: tuple[PriorityGroup, ...]
    cluster: ClusterInfo | None
    time: datetime | None
    """When the server gathered this."""
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, facts: Facts) -> Self:
        cluster = facts.optional("cluster")
        config = facts.object("config")
        return cls(
            stream=facts.text("stream_name"),
            name=facts.text("name"),
            config=config.raw,
            created=facts.time("created"),
            delivered=Position.read(facts.object("delivered")),
            ack_floor=Position.read(facts.object("ack_floor")),
            num_pending=facts.number("num_pending"),
            num_ack_pending=facts.number("num_ack_pending"),
            num_redelivered=facts.number("num_redelivered"),
            num_waiting=facts.number("num_waiting"),
            is_push_bound=facts.flag("push_bound"),
            pause=Pause.read(Facts({"pause_until": config.raw.get("pause_until"), **facts.raw}, facts.of)),
            priority_groups=tuple(PriorityGroup.read(each) for each in facts.objects("priority_groups")),
            cluster=ClusterInfo.read(cluster) if cluster else None,
            time=facts.time("ts"),
            raw=facts.raw,
        )


@dataclass(frozen=True, slots=True)
class Reset:
    """Where a reset put a consumer (X-14)."""

    sequence: int
    """The first that it will deliver is this, or the next that matches."""
    info: ConsumerInfo

    @classmethod
    def read(cls, facts: Facts) -> Self:
        return cls(facts.number("reset_seq"), ConsumerInfo.read(facts))
