"""Consumer: a durable JetStream consumer, as it shall be on the server.

Knows what may be written, and what each field is called on the server. What excludes what is in consumer_rules.py, what
cannot change in changes.py; translation.py turns a spec into what is sent.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from penstock_jetstream.config import CONSUMER as SERVER_CONSUMER
from penstock_operator.resources.changes import CONSUMER_CHANGES, change_rules, server_name_rule, server_name_stays
from penstock_operator.resources.consumer_rules import CONSUMER_RULES
from penstock_operator.resources.consumer_status import ConsumerStatus
from penstock_operator.resources.kind import AGE, READY, REASON, Column, Kind
from penstock_operator.resources.management import Management
from penstock_operator.resources.metadata import Description, Metadata
from penstock_operator.resources.names import LiteralSubject, ServerName, Subject, SubjectSet, each_once
from penstock_operator.resources.part import Part
from penstock_operator.resources.references import ConnectionRef, StreamRef
from penstock_operator.resources.scalars import Amount, Duration, Size, Time
from penstock_operator.resources.server import Server


class DeliverPolicy(StrEnum):
    ALL = "All"
    LAST = "Last"
    NEW = "New"
    BY_START_SEQUENCE = "ByStartSequence"
    BY_START_TIME = "ByStartTime"
    LAST_PER_SUBJECT = "LastPerSubject"


class ReplayPolicy(StrEnum):
    INSTANT = "Instant"
    ORIGINAL = "Original"


class AckPolicy(StrEnum):
    EXPLICIT = "Explicit"
    ALL = "All"
    NONE = "None"
    FLOW_CONTROL = "FlowControl"


class PriorityPolicy(StrEnum):
    NONE = "None"
    OVERFLOW = "Overflow"
    PINNED_CLIENT = "PinnedClient"
    PRIORITIZED = "Prioritized"


PriorityGroup = Annotated[str, StringConstraints(min_length=1, max_length=16, pattern=r"^[A-Za-z0-9/_=-]+$")]


class ConsumerSpec(Part):
    """A durable consumer, as it shall be on the server."""

    stream_ref: StreamRef | None = None
    """The Stream that it reads, declared in this namespace."""
    connection_ref: ConnectionRef | None = None
    """With stream: where a stream is that is declared elsewhere, or nowhere."""
    stream: ServerName | None = None
    """With connectionRef: the stream's name on the server."""
    name: Annotated[ServerName | None, Server("durable_name")] = None
    """The consumer's name on the server; by default metadata.name."""
    description: Annotated[Description | None, Server("description")] = None
    """A text for people."""
    metadata: Annotated[Metadata, Server("metadata")] = Field(default={})
    """Labels on the server, for people and programs. Names that begin with _nats are the server's."""

    deliver_policy: Annotated[DeliverPolicy, Server("deliver_policy")] = DeliverPolicy.ALL
    """Where the consumer begins. All: at the first message that there is. Last: at the last one. New: at the next one
    that comes. ByStartSequence, ByStartTime: at startSequence, at startTime. LastPerSubject: at the last one of each
    subject."""
    start_sequence: Annotated[Amount | None, Server("opt_start_seq")] = None
    """The first sequence, with deliverPolicy: ByStartSequence."""
    start_time: Annotated[Time | None, Server("opt_start_time")] = None
    """The time of the first message, with deliverPolicy: ByStartTime."""
    filter_subjects: Annotated[SubjectSet, Server("filter_subjects")] = Field(default=[])
    """Deliver only messages of these subjects, of which none may include another; by default all."""
    headers_only: Annotated[bool, Server("headers_only")] = False
    """Whether to deliver without payloads, and the size of each in the header Nats-Msg-Size."""
    replay_policy: Annotated[ReplayPolicy, Server("replay_policy")] = ReplayPolicy.INSTANT
    """How fast messages are delivered. Instant: as fast as they are taken. Original: as slowly as they came."""

    ack_policy: Annotated[AckPolicy, Server("ack_policy")] = AckPolicy.EXPLICIT
    """What counts as done. Explicit: each message is acknowledged by itself. All: an acknowledgement is for all
    messages up to it. None: what is delivered counts as done, and is lost if whoever took it fails. FlowControl: by
    flow control, for copying between streams."""
    ack_wait: Annotated[Duration, Server("ack_wait")] = "30s"
    """How long after its delivery a message may be unacknowledged before it is delivered again. It starts when the
    message is sent, not when work on it begins. The first of backoff takes its place."""
    backoff: Annotated[list[Duration], Field(max_length=64), Server("backoff")] = Field(default=[])
    """Ack waits by attempt, the last one for all that follow. A negative acknowledgement is not delayed by it."""
    max_deliver: Annotated[Amount | None, Server("max_deliver")] = None
    """How often a message is delivered at most; by default without end. After that it stays in the stream, and a work
    queue never lets it go by itself. A QueueGroup needs a Consumer without it."""
    max_ack_pending: Annotated[Annotated[int, Field(ge=-1)] | None, Server("max_ack_pending")] = None
    """How many messages may be delivered and not acknowledged; then new ones wait. -1 is no limit. By default what the
    stream's consumerLimits say, else 1000."""
    sample_percent: Annotated[Annotated[int, Field(ge=1, le=100)] | None, Server("sample_freq")] = None
    """For which share of acknowledgements the server publishes how long they took; by default for none."""

    max_waiting: Annotated[Amount | None, Server("max_waiting")] = None
    """How many pull requests may wait at once, of all clients together; by default 512."""
    max_batch: Annotated[Amount | None, Server("max_batch")] = None
    """How many messages one pull request may ask for; by default what the server allows."""
    max_expires: Annotated[Duration | None, Server("max_expires")] = None
    """How long one pull request may wait; by default there is no limit."""
    max_bytes: Annotated[Size | None, Server("max_bytes")] = None
    """How many bytes one pull request may ask for; by default there is no limit."""
    priority_policy: Annotated[PriorityPolicy, Server("priority_policy")] = PriorityPolicy.NONE
    """Which pull requests are served first. None: all are equal. Overflow: a request may wait until enough messages are
    pending. PinnedClient: one client gets all messages until it is gone. Prioritized: requests with a lower number
    first."""
    priority_groups: Annotated[
        list[PriorityGroup],
        Field(max_length=1, json_schema_extra={"x-kubernetes-list-type": "set"}),
        AfterValidator(each_once),
        Server("priority_groups"),
    ] = Field(default=[])
    """The group that pull requests belong to: one, of letters, digits and - _ / =."""
    priority_timeout: Annotated[Duration | None, Server("priority_timeout")] = None
    """How long a pinned client may go without a new pull request before another takes its place; by default 2m."""

    deliver_subject: Annotated[LiteralSubject | None, Server("deliver_subject")] = None
    """The subject that messages are pushed to; without it, clients pull."""
    deliver_group: Annotated[Subject | None, Server("deliver_group")] = None
    """The queue group whose subscribers share the messages of a push consumer."""
    idle_heartbeat: Annotated[Duration | None, Server("idle_heartbeat")] = None
    """How often a push consumer that has nothing to deliver says so; by default never."""
    flow_control: Annotated[bool | None, Server("flow_control")] = None
    """Whether a push consumer waits for its subscriber to catch up; by default only with ackPolicy: FlowControl."""
    rate_limit_bits_per_second: Annotated[Size | None, Server("rate_limit_bps")] = None
    """How fast a push consumer delivers at most; by default there is no limit."""

    inactive_threshold: Annotated[Duration | None, Server("inactive_threshold")] = None
    """How long nobody may use the consumer before the server deletes it; by default for ever, or what the stream's
    consumerLimits say."""
    replicas: Annotated[Annotated[int, Field(ge=1, le=5)] | None, Server("num_replicas")] = None
    """On how many servers the consumer's position is kept; by default on as many as the stream's messages."""
    memory_storage: Annotated[bool, Server("mem_storage")] = False
    """Whether to keep the consumer's position in memory, whatever the stream does."""
    pause_until: Annotated[Time | None, Server("pause_until")] = None
    """Deliver nothing before this time."""

    management: Management = Management()
    """How far Penstock may go with the consumer on the server."""

    RULES = CONSUMER_RULES


ConsumerSpec.CHANGE_RULES = change_rules(ConsumerSpec, SERVER_CONSUMER.fields, CONSUMER_CHANGES)

CONSUMER = Kind(
    name="Consumer",
    plural="consumers",
    short_names=("jconsumer",),
    description="A durable JetStream consumer, as it shall be on the server.",
    spec=ConsumerSpec,
    status=ConsumerStatus,
    rules=(server_name_rule("consumer"),),
    change_rules=(server_name_stays("consumer"),),
    selectable_fields=(".spec.streamRef.name", ".spec.connectionRef.name", ".spec.stream"),
    columns=(
        READY,
        REASON,
        Column("Stream", ".status.streamName"),
        Column("Consumer", ".status.consumerName"),
        Column("Pending", ".status.pending", type="integer"),
        Column("Ack Pending", ".status.ackPending", type="integer"),
        AGE,
        Column("Redelivered", ".status.redelivered", type="integer", priority=1),
        Column("Waiting", ".status.waiting", type="integer", priority=1),
        Column("Paused", ".status.paused", type="boolean", priority=1),
        Column("Leader", ".status.leader", priority=1),
        Column("Replicas", ".status.replicas", type="integer", priority=1),
        Column("Current", ".status.currentReplicas", type="integer", priority=1),
    ),
)
