"""Parts of a Stream: where it copies from, what it makes of subjects, where it is to be.

Knows what may be written in each. Does not know what they exclude in the Stream (stream_rules.py).
"""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from penstock_operator.resources.names import LiteralSubject, ServerName, Subject, each_once
from penstock_operator.resources.part import Part
from penstock_operator.resources.scalars import Amount, Duration, Time
from penstock_operator.resources.server import Server
from penstock_operator.resources.source_rules import EXTERNAL_RULES, SOURCE_RULES

Destination = Annotated[str, StringConstraints(min_length=1, max_length=1024)]
"""A subject that may call functions, which may have spaces."""
Tag = Annotated[str, StringConstraints(min_length=1, max_length=255)]


class SubjectTransform(Part):
    """What becomes of subjects."""

    source: Annotated[Subject | None, Server("src")] = None
    """Which subjects are transformed; by default all."""
    destination: Annotated[Destination, Server("dest")]
    """What they become. {{wildcard(1)}} stands for the first * of the source, and {{partition(16,1)}} for a number from
    0 to 15 that the first * decides."""


class SourceTransform(Part):
    """Which messages are copied, and what becomes of their subjects."""

    source: Annotated[Subject | None, Server("src")] = None
    """Which subjects are copied; by default all."""
    destination: Annotated[Destination | None, Server("dest")] = None
    """What they become, as in a stream's subjectTransform; by default they stay as they are."""


class External(Part):
    """Where a stream is that is in another account or domain."""

    api_prefix: Annotated[LiteralSubject, Server("api")]
    """The prefix of the JetStream API there, such as $JS.hub.API."""
    deliver_prefix: Annotated[LiteralSubject | None, Server("deliver")] = None
    """The prefix of the subjects on which the other side delivers; by default the server chooses."""

    RULES = EXTERNAL_RULES


class SourceConsumer(Part):
    """A durable consumer of the origin, through which to copy."""

    name: Annotated[ServerName, Server("name")]
    """The consumer's name; it must exist."""
    deliver_subject: Annotated[LiteralSubject, Server("deliver_subject")]
    """The consumer's deliver subject."""


class StreamSource(Part):
    """A stream to copy from."""

    name: Annotated[ServerName, Server("name")]
    """The stream's name on its server."""
    start_sequence: Annotated[Amount | None, Server("opt_start_seq")] = None
    """The first sequence to copy; by default the stream's beginning."""
    start_time: Annotated[Time | None, Server("opt_start_time")] = None
    """Copy what was stored at this time or later."""
    filter_subject: Annotated[Subject | None, Server("filter_subject")] = None
    """Copy only messages of these subjects."""
    subject_transforms: Annotated[list[SourceTransform], Field(max_length=16), Server("subject_transforms")] = Field(
        default=[]
    )
    """Copy only messages whose subject one of these matches, under the subject that it makes. Without destinations
    they only filter: so a source has several filters."""
    external: Annotated[External | None, Server("external")] = None
    """Where the stream is, if it is in another account or domain."""
    consumer: Annotated[SourceConsumer | None, Server("consumer")] = None
    """Copy through a durable consumer that exists, instead of one that the server makes. Of use where the origin has
    interest or work-queue retention, or is in an account that may not create consumers."""

    RULES = SOURCE_RULES


class Placement(Part):
    """Where in a super-cluster a stream is to be."""

    cluster: Annotated[Annotated[str, StringConstraints(min_length=1, max_length=255)] | None, Server("cluster")] = None
    """The cluster; by default any."""
    tags: Annotated[
        list[Tag],
        Field(max_length=32, json_schema_extra={"x-kubernetes-list-type": "set"}),
        AfterValidator(each_once),
        Server("tags"),
    ] = Field(default=[])
    """Tags that each server must have to keep a replica."""


class Republish(Part):
    """What is published again once it is stored, for those who need no stream."""

    source: Annotated[Subject, Server("src")] = ">"
    """Which stored subjects are republished."""
    destination: Annotated[Destination, Server("dest")]
    """The subject to publish to, which the stream itself must not take."""
    headers_only: Annotated[bool, Server("headers_only")] = False
    """Whether to publish without payloads, and the size of each in a header."""


class ConsumerLimits(Part):
    """Limits for a stream's consumers, which are their defaults as well."""

    inactive_threshold: Annotated[Duration | None, Server("inactive_threshold")] = None
    """The longest inactiveThreshold that a consumer may have; and the one of those that give none, durable ones
    included."""
    max_ack_pending: Annotated[Amount | None, Server("max_ack_pending")] = None
    """The largest maxAckPending that a consumer may have; and the one of those that give none."""
