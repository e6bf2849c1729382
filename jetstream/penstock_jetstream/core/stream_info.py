"""What a server says of a stream.

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
class StreamState:
    """What is stored."""

    messages: int
    size_bytes: int
    first_sequence: int
    last_sequence: int
    first_time: datetime | None
    last_time: datetime | None
    consumers: int
    subjects_count: int
    subjects: Mapping[str, int]
    """Messages by subject, of those that were asked for."""
    deleted_count: int
    """Gaps between the first and the last sequence."""
    deleted: tuple[int, ...]
    """Their sequences, if they were asked for."""

    @classmethod
    def read(cls, facts: Facts) -> Self:
        return cls(
            messages=facts.number("messages"),
            size_bytes=facts.number("bytes"),
            first_sequence=facts.number("first_seq"),
            last_sequence=facts.number("last_seq"),
            first_time=facts.time("first_ts"),
            last_time=facts.time("last_ts"),
            consumers=facts.number("consumer_count", 0),
            subjects_count=facts.number("num_subjects", 0),
            subjects=facts.mapping("subjects"),
            deleted_count=facts.number("num_deleted", 0),
            deleted=tuple(facts.numbers("deleted")),
        )


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """How a stream keeps up with one that it mirrors or sources."""

    name: str
    lag: int
    """Messages that it has not taken over yet."""
    silent_seconds: float | None
    """How long nothing was heard of it; None if nothing ever was."""
    error: str | None

    @classmethod
    def read(cls, facts: Facts) -> Self:
        active = facts.number("active", -1)
        error = facts.optional("error")
        return cls(
            name=facts.text("name"),
            lag=facts.number("lag", 0),
            silent_seconds=active / NANOSECONDS_PER_SECOND if active >= 0 else None,
            error=error.text("description", "without a description") if error else None,
        )


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """A stream's config and state, at one moment."""

    name: str
    config: Mapping[str, Any]
    """As the server stores it: with its defaults, in its own field names."""
    created: datetime | None
    state: StreamState
    cluster: ClusterInfo | None
    mirror: SourceInfo | None
    sources: tuple[SourceInfo, ...]
    domain: str | None
    time: datetime | None
    """When the server gathered this."""
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, facts: Facts) -> Self:
        config, cluster, mirror = facts.object("config"), facts.optional("cluster"), facts.optional("mirror")
        return cls(
            name=config.text("name"),
            config=config.raw,
            created=facts.time("created"),
            state=StreamState.read(facts.object("state")),
            cluster=ClusterInfo.read(cluster) if cluster else None,
            mirror=SourceInfo.read(mirror) if mirror else None,
            sources=tuple(SourceInfo.read(each) for each in facts.objects("sources")),
            domain=facts.text("domain", "") or None,
            time=facts.time("ts"),
            raw=facts.raw,
        )
