"""Fields of the objects within a stream's configuration: sources, placement, transforms, limits.

Knows each of their fields. Does not know which stream fields they stand in, or what excludes what.
"""

from penstock_jetstream.config.field import Field
from penstock_jetstream.config.values import Duration, Flag, ListOf, Record, Text, Time, Whole

SUBJECT_TRANSFORM = Record(
    (
        Field(
            name="src",
            type=Text(),
            meaning="Which subjects are transformed; absent is all.",
            example="orders.*",
        ),
        Field(
            name="dest",
            type=Text(),
            meaning="What they become. `{{wildcard(1)}}` stands for the first `*` of `src`, and "
            "`{{partition(16,1)}}` for a number from 0 to 15 that the first `*` decides.",
            example="orders.{{partition(16,1)}}.{{wildcard(1)}}",
        ),
    )
)

_EXTERNAL = Record(
    (
        Field(
            name="api",
            type=Text(),
            meaning="The prefix of the JetStream API of the other account or domain, such as `$JS.hub.API`.",
            example="$JS.hub.API",
        ),
        Field(
            name="deliver",
            type=Text(),
            meaning="The prefix of the subjects on which the other side delivers; absent leaves it to the server.",
            example="deliver.hub",
        ),
    )
)

_SOURCE_CONSUMER = Record(
    (
        Field(
            name="name",
            type=Text(255),
            meaning="The durable consumer of the origin to read through; it must exist.",
            since="2.14",
            example="hub",
        ),
        Field(
            name="deliver_subject",
            type=Text(),
            meaning="The deliver subject of that consumer.",
            since="2.14",
            example="deliver.hub.orders",
        ),
    )
)

STREAM_SOURCE = Record(
    (
        Field(
            name="name",
            type=Text(255),
            meaning="The stream to copy from.",
            example="ORDERS",
        ),
        Field(
            name="opt_start_seq",
            type=Whole(),
            meaning="The first sequence to copy; absent is the stream's beginning.",
            example=100,
        ),
        Field(
            name="opt_start_time",
            type=Time(),
            meaning="Copy what was stored at this time or later; not together with `opt_start_seq`.",
            example="2026-01-31T12:00:00Z",
        ),
        Field(
            name="filter_subject",
            type=Text(),
            meaning="Copy only messages of these subjects; not together with `subject_transforms`.",
            example="orders.eu.>",
        ),
        Field(
            name="subject_transforms",
            type=ListOf(of=SUBJECT_TRANSFORM),
            meaning="Copy only messages whose subject one of these matches, under the subject that it makes; without a "
            "`dest`, under their own.",
            since="2.10",
            example=[{"src": "orders.>", "dest": "eu.orders.>"}],
        ),
        Field(
            name="external",
            type=_EXTERNAL,
            meaning="Where the stream is, if it is in another account or domain.",
            example={"api": "$JS.hub.API"},
        ),
        Field(
            name="consumer",
            type=_SOURCE_CONSUMER,
            meaning="Copy through a durable consumer that exists, instead of one that the server makes. Only of use "
            "where the origin has interest or work-queue retention, or is in an account that may not create consumers.",
            since="2.14",
            example={"name": "hub", "deliver_subject": "deliver.hub.orders"},
        ),
    )
)

PLACEMENT = Record(
    (
        Field(
            name="cluster",
            type=Text(),
            meaning="The cluster that the stream is to be in; absent is any.",
            example="east",
        ),
        Field(
            name="tags",
            type=ListOf(of=Text(), ordered=False),
            meaning="Tags that each server must have to keep a replica.",
            example=["ssd"],
        ),
        Field(
            name="preferred",
            type=Text(),
            meaning="The server that is to lead. Only a request to step down can say so; servers refuse it here.",
            since="2.11",
            internal=True,
        ),
    )
)

REPUBLISH = Record(
    (
        Field(
            name="src",
            type=Text(),
            meaning="Which stored subjects are republished; absent is all.",
            default=">",
            example="orders.>",
        ),
        Field(
            name="dest",
            type=Text(),
            meaning="The subject to publish to, which the stream itself must not take.",
            example="seen.orders.>",
        ),
        Field(
            name="headers_only",
            type=Flag(),
            meaning="Publish without payloads, and the size of each in a header.",
            default=False,
            example=True,
        ),
    )
)

CONSUMER_LIMITS = Record(
    (
        Field(
            name="inactive_threshold",
            type=Duration(),
            meaning="The longest `inactive_threshold` that a consumer may have; and the one of those that give none, "
            "durable ones included.",
            unit="nanoseconds",
            example=3_600_000_000_000,
        ),
        Field(
            name="max_ack_pending",
            type=Whole(),
            meaning="The largest `max_ack_pending` that a consumer may have; and the one of those that give none.",
            unit="messages",
            example=5000,
        ),
    )
)
