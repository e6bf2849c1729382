"""Every field of a stream's configuration, as nats-server 2.15 has them.

Knows each field. Does not know which exclude each other (stream_rules.py).
"""

from penstock_jetstream.config.facts import Facts
from penstock_jetstream.config.field import NEVER, ON_FOR_GOOD, UNKNOWN, Change, Config, Derived, Field, Free, Special
from penstock_jetstream.config.levels import level_of
from penstock_jetstream.config.nested_fields import (
    CONSUMER_LIMITS,
    PLACEMENT,
    REPUBLISH,
    STREAM_SOURCE,
    SUBJECT_TRANSFORM,
)
from penstock_jetstream.config.values import (
    MILLISECOND,
    MINUTE,
    SECOND,
    Choice,
    Duration,
    Flag,
    Labels,
    ListOf,
    Option,
    Text,
    Whole,
)

MAX_REPLICAS = 5
MAX_DESCRIPTION_BYTES = 4 * 1024
MAX_METADATA_BYTES = 128 * 1024

METADATA = Field(
    name="metadata",
    type=Labels(max_bytes=MAX_METADATA_BYTES),
    meaning="Labels for people and programs. Names that begin with `_nats` are the server's.",
    since="2.10",
    example={"team": "checkout"},
)
"""Consumers have it as well."""
DEFAULT_DUPLICATE_WINDOW = 2 * MINUTE

_PROMOTES_MIRRORS = level_of("2.12")
_UPDATES_MAX_CONSUMERS = level_of("2.12.5")
_WINDOWS_SOURCES_NO_MORE = level_of("2.14")

_WORKQUEUE = "workqueue"


def _own_name(config: Config, _: Facts) -> object:
    return [] if config.get("mirror") or config.get("sources") else [config.get("name")]


def _duplicate_window(config: Config, facts: Facts) -> object:
    if config.get("mirror"):
        return 0
    if config.get("sources") and facts.api_level is None:
        return UNKNOWN
    if config.get("sources") and (facts.api_level or 0) >= _WINDOWS_SOURCES_NO_MORE:
        return 0
    max_age = config.get("max_age")
    bounds = [DEFAULT_DUPLICATE_WINDOW, facts.duplicate_window, max_age]
    return min(bound for bound in bounds if isinstance(bound, int) and bound > 0)


def _moves_and_scales(change: Change) -> bool:
    replicas = [config.get("num_replicas") or 1 for config in (change.actual, change.desired)]
    retention = [config.get("retention") or "limits" for config in (change.actual, change.desired)]
    return change.new is not None and (replicas[0] != replicas[1] or retention[0] != retention[1])


def _scales_one_server(change: Change) -> bool:
    return change.facts.clustered is False and isinstance(change.new, int) and change.new > 1


def _is_older(level: int, change: Change) -> bool:
    return change.facts.api_level is not None and change.facts.api_level < level


_IDENTITY = (
    Field(
        name="name",
        type=Text(255),
        meaning="The name of the stream: no white space, and none of `. * > / \\`.",
        mutability=NEVER,
        example="ORDERS",
    ),
    Field(
        name="description",
        type=Text(MAX_DESCRIPTION_BYTES),
        meaning="A text for people.",
        since="2.3.3",
        example="All orders, for thirty days",
    ),
    Field(
        name="subjects",
        type=ListOf(of=Text(), ordered=False),
        meaning="The subjects whose messages the stream takes. No two may overlap, here or with another stream's.",
        default=Derived("the name of the stream; nothing for mirrors and streams with sources", _own_name),
        example=["orders.>"],
    ),
    METADATA,
)

_KEEPING = (
    Field(
        name="retention",
        type=Choice(
            (
                Option("limits", "keep messages until a limit is reached"),
                Option("interest", "keep a message until every consumer that wants it has acknowledged it"),
                Option("workqueue", "keep a message until its one consumer has acknowledged it"),
            )
        ),
        meaning="What lets a message go. The limits hold in any case.",
        default="limits",
        mutability=Special(
            "A stream never becomes a work queue, nor stops to be one.",
            lambda change: _WORKQUEUE in (change.old, change.new),
        ),
        example="interest",
    ),
    Field(
        name="storage",
        type=Choice(
            (
                Option("file", "on disk"),
                Option("memory", "in memory: gone when all servers that hold it have stopped"),
            )
        ),
        meaning="Where messages are kept.",
        default="file",
        mutability=NEVER,
        example="memory",
    ),
    Field(
        name="discard",
        type=Choice(
            (
                Option("old", "the oldest messages go"),
                Option("new", "the new message is refused, and its publisher told"),
            )
        ),
        meaning="What happens when a limit is reached.",
        default="old",
        example="new",
    ),
    Field(
        name="discard_new_per_subject",
        type=Flag(),
        meaning="Refuse a new message also when its subject has reached `max_msgs_per_subject`. Needs `discard` new.",
        default=False,
        since="2.9.1",
        example=True,
    ),
    Field(
        name="max_msgs",
        type=Whole(unlimited=True),
        meaning="How many messages the stream keeps.",
        default=-1,
        unit="messages",
        example=1_000_000,
    ),
    Field(
        name="max_bytes",
        type=Whole(unlimited=True),
        meaning="How many bytes the stream keeps; an account may require a bound.",
        default=-1,
        unit="bytes",
        example=10_485_760,
    ),
    Field(
        name="max_age",
        type=Duration(minimum=100 * MILLISECOND),
        meaning="How long a message is kept; 0 is for ever.",
        default=0,
        unit="nanoseconds",
        example=3600 * SECOND,
    ),
    Field(
        name="max_msgs_per_subject",
        type=Whole(unlimited=True),
        meaning="How many messages the stream keeps of each subject.",
        default=-1,
        since="2.3",
        unit="messages",
        example=5,
    ),
    Field(
        name="max_msg_size",
        type=Whole(unlimited=True, maximum=2**31 - 1),
        meaning="The largest message that the stream takes, headers included.",
        default=-1,
        unit="bytes",
        example=65536,
    ),
    Field(
        name="max_consumers",
        type=Whole(unlimited=True),
        meaning="How many consumers the stream may have. Lowering it removes none.",
        default=-1,
        mutability=Special(
            "Servers before 2.12.5, and 2.14.0, set it at creation, for good.",
            lambda change: _is_older(_UPDATES_MAX_CONSUMERS, change),
        ),
        unit="consumers",
        example=10,
    ),
    Field(
        name="compression",
        type=Choice((Option("none", "none"), Option("s2", "fast, and of use for text", since="2.10"))),
        meaning="How messages are compressed on disk.",
        default="none",
        since="2.10",
        example="s2",
    ),
    Field(
        name="persist_mode",
        type=Choice(
            (
                Option("default", "a message is on disk before its publisher hears that it is stored"),
                Option("async", "a little later: faster, and lost if the server fails in between"),
            )
        ),
        meaning="When messages are written to disk. `async` needs file storage, one replica, and no atomic batches.",
        default="default",
        since="2.12",
        mutability=NEVER,
        example="async",
    ),
    Field(
        name="first_seq",
        type=Whole(),
        meaning="The sequence of the first message; absent is 1.",
        since="2.10",
        mutability=Special("The server would store another first_seq, and number messages as before.", lambda _: True),
        unit="sequence",
        example=1000,
    ),
    Field(
        name="consumer_limits",
        type=CONSUMER_LIMITS,
        meaning="Limits for the stream's consumers, which are their defaults as well.",
        since="2.10",
        mutability=Free("The server refuses limits that a consumer exceeds (10069)."),
        example={"max_ack_pending": 5000},
    ),
)

_PLACES = (
    Field(
        name="num_replicas",
        type=Whole(maximum=MAX_REPLICAS),
        meaning="On how many servers of a cluster each message is kept: 1, 3 or 5. Three survive the loss of one.",
        default=1,
        mutability=Special("One server alone keeps one replica.", _scales_one_server),
        unit="servers",
        example=3,
    ),
    Field(
        name="placement",
        type=PLACEMENT,
        meaning="Where in a super-cluster the stream is to be. A change moves it, one move at a time.",
        mutability=Special(
            "A stream cannot move and change its replicas or retention in one update: make two, one after the other.",
            _moves_and_scales,
        ),
        example={"tags": ["ssd"]},
    ),
    Field(
        name="mirror",
        type=STREAM_SOURCE,
        meaning="The stream of which this one is a copy, message by message and sequence by sequence.",
        mutability=Special(
            "A mirror is set at creation. Since 2.12 it can be removed, which makes the copy a stream of its own.",
            lambda change: change.new is not None or _is_older(_PROMOTES_MIRRORS, change),
        ),
        example={"name": "ORDERS"},
    ),
    Field(
        name="sources",
        type=ListOf(of=STREAM_SOURCE, ordered=False),
        meaning="Streams whose messages are copied into this one.",
        example=[{"name": "ORDERS_EU"}, {"name": "ORDERS_US"}],
    ),
)

_SUBJECTS = (
    Field(
        name="subject_transform",
        type=SUBJECT_TRANSFORM,
        meaning="What becomes of the subject of each message before it is stored.",
        since="2.10",
        example={"src": "orders.*", "dest": "orders.{{partition(16,1)}}.{{wildcard(1)}}"},
    ),
    Field(
        name="republish",
        type=REPUBLISH,
        meaning="Publish each message again once it is stored, for those who need no stream.",
        since="2.8.3",
        example={"src": ">", "dest": "seen.>"},
    ),
)

_ACCESS = (
    Field(
        name="no_ack",
        type=Flag(),
        meaning="Do not tell publishers that their message is stored.",
        default=False,
        example=True,
    ),
    Field(
        name="duplicate_window",
        type=Duration(minimum=100 * MILLISECOND),
        meaning="How long message ids are remembered, so that a message published twice is stored once. "
        "At most `max_age`.",
        default=Derived(
            "2 min, or `max_age` if that is shorter; 0 for mirrors, and since 2.14 with sources", _duplicate_window
        ),
        unit="nanoseconds",
        example=SECOND,
    ),
    Field(
        name="allow_direct",
        type=Flag(),
        meaning="Let every replica answer reads of single messages: faster, and possibly not the newest.",
        default=False,
        since="2.9",
        example=True,
    ),
    Field(
        name="mirror_direct",
        type=Flag(),
        meaning="Let a mirror answer such reads for its origin. Where the origin can be seen, the server sets it to "
        "what `allow_direct` of the origin is.",
        default=False,
        since="2.9",
        example=True,
    ),
    Field(
        name="allow_rollup_hdrs",
        type=Flag(),
        meaning="Let a message with the header `Nats-Rollup` replace all before it. Excludes `deny_purge`.",
        default=False,
        since="2.6.2",
        example=True,
    ),
    Field(
        name="deny_delete",
        type=Flag(),
        meaning="Refuse to delete single messages.",
        default=False,
        since="2.6.2",
        mutability=ON_FOR_GOOD,
        example=True,
    ),
    Field(
        name="deny_purge",
        type=Flag(),
        meaning="Refuse to purge the stream.",
        default=False,
        since="2.6.2",
        mutability=ON_FOR_GOOD,
        example=True,
    ),
    Field(
        name="sealed",
        type=Flag(),
        meaning="Take no more messages and give none up: no limits by age, no deletes, no purges. "
        "Only an update can seal a stream.",
        default=False,
        since="2.6.2",
        mutability=ON_FOR_GOOD,
        example=True,
    ),
    Field(
        name="allow_msg_ttl",
        type=Flag(),
        meaning="Let a message say in the header `Nats-TTL` how long it lives.",
        default=False,
        since="2.11",
        mutability=ON_FOR_GOOD,
        example=True,
    ),
    Field(
        name="subject_delete_marker_ttl",
        type=Duration(minimum=SECOND),
        meaning="When the last message of a subject expires, leave a marker for this long, so that readers notice. "
        "Switches `allow_msg_ttl` and `allow_rollup_hdrs` on.",
        since="2.11",
        unit="nanoseconds",
        example=60 * SECOND,
    ),
    Field(
        name="allow_msg_counter",
        type=Flag(),
        meaning="Make every subject a counter: messages add to it with the header `Nats-Incr`.",
        default=False,
        since="2.12",
        mutability=NEVER,
        example=True,
    ),
    Field(
        name="allow_atomic",
        type=Flag(),
        meaning="Let publishers store several messages at once, or none.",
        default=False,
        since="2.12",
        example=True,
    ),
    Field(
        name="allow_msg_schedules",
        type=Flag(),
        meaning="Let messages be published later, or at intervals, by their headers. Switches `allow_rollup_hdrs` on.",
        default=False,
        since="2.12",
        mutability=ON_FOR_GOOD,
        example=True,
    ),
    Field(
        name="allow_batched",
        type=Flag(),
        meaning="Let publishers send long batches with few acknowledgements.",
        default=False,
        since="2.14",
        example=True,
    ),
)

STREAM_FIELDS = _IDENTITY + _KEEPING + _PLACES + _SUBJECTS + _ACCESS
