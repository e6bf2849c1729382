"""Stream: a JetStream stream, as it shall be on the server.

Knows what may be written, and what each field is called on the server. What excludes what is in stream_rules.py, what
cannot change in changes.py; translation.py turns a spec into what is sent.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from penstock_jetstream.config import STREAM as SERVER_STREAM
from penstock_operator.resources.changes import STREAM_CHANGES, change_rules, server_name_rule, server_name_stays
from penstock_operator.resources.kind import AGE, READY, REASON, Column, Kind
from penstock_operator.resources.management import Management
from penstock_operator.resources.metadata import Description, Metadata
from penstock_operator.resources.names import ServerName, SubjectSet
from penstock_operator.resources.part import Part
from penstock_operator.resources.references import ConnectionRef
from penstock_operator.resources.scalars import Amount, Duration, Size
from penstock_operator.resources.server import Server
from penstock_operator.resources.stream_parts import (
    ConsumerLimits,
    Placement,
    Republish,
    StreamSource,
    SubjectTransform,
)
from penstock_operator.resources.stream_rules import STREAM_RULES
from penstock_operator.resources.stream_status import StreamStatus


class Retention(StrEnum):
    LIMITS = "Limits"
    INTEREST = "Interest"
    WORK_QUEUE = "WorkQueue"


class Storage(StrEnum):
    FILE = "File"
    MEMORY = "Memory"


class Discard(StrEnum):
    OLD = "Old"
    NEW = "New"


class Compression(StrEnum):
    NONE = "None"
    S2 = "S2"


class PersistMode(StrEnum):
    DEFAULT = "Default"
    ASYNC = "Async"


class StreamSpec(Part):
    """A stream, as it shall be on the server."""

    connection_ref: ConnectionRef
    """Where the stream is."""
    name: Annotated[ServerName | None, Server("name")] = None
    """The stream's name on the server; by default metadata.name."""
    description: Annotated[Description | None, Server("description")] = None
    """A text for people."""
    metadata: Annotated[Metadata, Server("metadata")] = Field(default={})
    """Labels on the server, for people and programs. Names that begin with _nats are the server's."""

    subjects: Annotated[SubjectSet, Server("subjects")] = Field(default=[])
    """The subjects whose messages the stream takes. No two may overlap, here or with another stream's. By default the
    stream's name; nothing for mirrors and streams with sources."""
    subject_transform: Annotated[SubjectTransform | None, Server("subject_transform")] = None
    """What becomes of the subject of each message before it is stored."""
    republish: Annotated[Republish | None, Server("republish")] = None
    """What is published again once it is stored, for those who need no stream."""

    retention: Annotated[Retention, Server("retention")] = Retention.LIMITS
    """What lets a message go; the limits hold in any case. Limits: keep messages until a limit is reached. Interest:
    until every consumer that wants it has acknowledged it. WorkQueue: until its one consumer has acknowledged it."""
    storage: Annotated[Storage, Server("storage")] = Storage.FILE
    """Where messages are kept. File: on disk. Memory: gone when all servers that hold the stream have stopped."""
    compression: Annotated[Compression, Server("compression")] = Compression.NONE
    """How messages are compressed on disk. S2 is fast, and of use for text."""
    persist_mode: Annotated[PersistMode, Server("persist_mode")] = PersistMode.DEFAULT
    """When messages are written to disk. Default: before their publisher hears that they are stored. Async: a little
    later, which is faster, and they are lost if the server fails in between."""
    discard: Annotated[Discard, Server("discard")] = Discard.OLD
    """What happens when a limit is reached. Old: the oldest messages go. New: new ones are refused, and their publisher
    told."""
    discard_new_per_subject: Annotated[bool, Server("discard_new_per_subject")] = False
    """Whether to refuse a new message also when its subject has reached maxMessagesPerSubject."""
    max_messages: Annotated[Amount | None, Server("max_msgs")] = None
    """How many messages the stream keeps; by default there is no limit."""
    max_messages_per_subject: Annotated[Amount | None, Server("max_msgs_per_subject")] = None
    """How many messages the stream keeps of each subject; by default there is no limit."""
    max_bytes: Annotated[Size | None, Server("max_bytes")] = None
    """How many bytes the stream keeps; by default there is no limit, and an account may require one."""
    max_age: Annotated[Duration | None, Server("max_age")] = None
    """How long a message is kept; by default for ever."""
    max_message_size: Annotated[Size | None, Server("max_msg_size")] = None
    """The largest message that the stream takes, headers included; by default what the server takes."""
    max_consumers: Annotated[Amount | None, Server("max_consumers")] = None
    """How many consumers the stream may have; by default there is no limit. Lowering it removes none."""
    consumer_limits: Annotated[ConsumerLimits | None, Server("consumer_limits")] = None
    """Limits for the stream's consumers, which are their defaults as well."""
    duplicate_window: Annotated[Duration | None, Server("duplicate_window")] = None
    """How long message ids are remembered, so that a message published twice is stored once; maxAge at most. By default
    2m, or maxAge if that is shorter; nothing for mirrors, and since server 2.14 with sources."""
    first_sequence: Annotated[Amount | None, Server("first_seq")] = None
    """The sequence of the first message; by default 1."""

    replicas: Annotated[int, Field(ge=1, le=5), Server("num_replicas")] = 1
    """On how many servers of a cluster each message is kept: 1, 3 or 5. Three survive the loss of one."""
    placement: Annotated[Placement | None, Server("placement")] = None
    """Where in a super-cluster the stream is to be. A change moves it, one move at a time."""
    mirror: Annotated[StreamSource | None, Server("mirror")] = None
    """The stream of which this one is a copy, message by message and sequence by sequence."""
    sources: Annotated[list[StreamSource], Field(max_length=32), Server("sources")] = Field(default=[])
    """Streams whose messages are copied into this one."""

    no_ack: Annotated[bool, Server("no_ack")] = False
    """Whether publishers are not told that their message is stored."""
    allow_direct: Annotated[bool, Server("allow_direct")] = False
    """Whether every replica answers reads of single messages: faster, and possibly not the newest."""
    mirror_direct: Annotated[bool | None, Server("mirror_direct")] = None
    """Whether a mirror answers such reads for its origin; by default what allowDirect of the origin is, as far as the
    server can see it."""
    allow_rollup: Annotated[bool | None, Server("allow_rollup_hdrs")] = None
    """Whether a message with the header Nats-Rollup replaces all before it; by default not, unless
    subjectDeleteMarkerTtl or allowMessageSchedules need it."""
    deny_delete: Annotated[bool, Server("deny_delete")] = False
    """Whether to refuse to delete single messages. Once it is on, it stays on."""
    deny_purge: Annotated[bool, Server("deny_purge")] = False
    """Whether to refuse to purge the stream. Once it is on, it stays on."""
    sealed: Annotated[bool, Server("sealed")] = False
    """Whether the stream takes no more messages and gives none up. Only a stream that exists can be sealed; once it is,
    it stays so."""
    allow_message_ttl: Annotated[bool | None, Server("allow_msg_ttl")] = None
    """Whether a message may say in the header Nats-TTL how long it lives; by default not, unless subjectDeleteMarkerTtl
    needs it. Once it is on, it stays on."""
    subject_delete_marker_ttl: Annotated[Duration | None, Server("subject_delete_marker_ttl")] = None
    """When the last message of a subject expires, leave a marker for this long, so that readers notice; by default
    none."""
    allow_message_counter: Annotated[bool, Server("allow_msg_counter")] = False
    """Whether every subject is a counter, to which messages add with the header Nats-Incr."""
    allow_message_schedules: Annotated[bool, Server("allow_msg_schedules")] = False
    """Whether messages may be published later, or at intervals, by their headers. Once it is on, it stays on."""
    allow_atomic_publish: Annotated[bool, Server("allow_atomic")] = False
    """Whether publishers may store several messages at once, or none."""
    allow_batched_publish: Annotated[bool, Server("allow_batched")] = False
    """Whether publishers may send long batches with few acknowledgements."""

    management: Management = Management()
    """How far Penstock may go with the stream on the server."""

    RULES = STREAM_RULES


StreamSpec.CHANGE_RULES = change_rules(StreamSpec, SERVER_STREAM.fields, STREAM_CHANGES)

STREAM = Kind(
    name="Stream",
    plural="streams",
    short_names=("jstream",),
    description="A JetStream stream, as it shall be on the server.",
    spec=StreamSpec,
    status=StreamStatus,
    rules=(server_name_rule("stream"),),
    change_rules=(server_name_stays("stream"),),
    selectable_fields=(".spec.connectionRef.name", ".spec.name"),
    columns=(
        READY,
        REASON,
        Column("Stream", ".status.streamName"),
        Column("Messages", ".status.messages", type="integer"),
        AGE,
        Column("Bytes", ".status.bytes", type="integer", priority=1),
        Column("Consumers", ".status.consumers", type="integer", priority=1),
        Column("Leader", ".status.leader", priority=1),
        Column("Replicas", ".status.replicas", type="integer", priority=1),
        Column("Current", ".status.currentReplicas", type="integer", priority=1),
        Column("Subjects", ".spec.subjects", priority=1),
        Column("Connection", ".spec.connectionRef.name", priority=1),
    ),
)
