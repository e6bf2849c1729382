"""Every field of a consumer's configuration, as nats-server 2.15 has them.

Knows each field. Does not know which exclude each other (consumer_rules.py).
"""

from collections.abc import Mapping

from penstock_jetstream.config.facts import Facts
from penstock_jetstream.config.field import NEVER, UNKNOWN, Change, Config, Derived, Field, Free, Special
from penstock_jetstream.config.stream_fields import MAX_DESCRIPTION_BYTES, MAX_REPLICAS, METADATA
from penstock_jetstream.config.values import (
    MILLISECOND,
    MINUTE,
    SECOND,
    Choice,
    Duration,
    Flag,
    ListOf,
    Option,
    Percentage,
    Text,
    Time,
    Whole,
)

DEFAULT_ACK_WAIT = 30 * SECOND
DEFAULT_MAX_ACK_PENDING = 1000
DEFAULT_MAX_WAITING = 512
DEFAULT_EPHEMERAL_THRESHOLD = 5 * SECOND
DEFAULT_PRIORITY_TIMEOUT = 2 * MINUTE


def _pull_only(value: int) -> Derived:
    return Derived(f"{value} for pull consumers", lambda config, _: 0 if config.get("deliver_subject") else value)


def _ack_wait(config: Config, _: Facts) -> object:
    return DEFAULT_ACK_WAIT if config.get("ack_policy") in ("explicit", "all") else 0


def _limit(facts: Facts, name: str) -> object:
    """Return a limit of the stream, which is a default as well; 0 is none."""
    if facts.stream is None:
        return UNKNOWN
    limits = facts.stream.get("consumer_limits")
    return (limits.get(name) or 0) if isinstance(limits, Mapping) else 0


def _max_ack_pending(config: Config, facts: Facts) -> object:
    limit = _limit(facts, "max_ack_pending")
    if limit != 0:
        return limit
    if config.get("ack_policy") in (None, "", "none"):
        return 0
    return min(DEFAULT_MAX_ACK_PENDING, facts.max_ack_pending or DEFAULT_MAX_ACK_PENDING)


def _inactive_threshold(config: Config, facts: Facts) -> object:
    limit = _limit(facts, "inactive_threshold")
    if limit != 0:
        return limit
    return 0 if config.get("durable_name") else DEFAULT_EPHEMERAL_THRESHOLD


def _priority_timeout(config: Config, _: Facts) -> object:
    return DEFAULT_PRIORITY_TIMEOUT if config.get("priority_policy") == "pinned_client" else 0


def _max_batch(config: Config, facts: Facts) -> object:
    return 0 if config.get("deliver_subject") else facts.max_batch or 0


def _turns(change: Change) -> bool:
    """Tell whether a pull consumer is to become a push consumer, or back."""
    return (change.old is None) is not (change.new is None)


_IDENTITY = (
    Field(
        name="durable_name",
        type=Text(255),
        meaning="The name of a consumer that stays until it is deleted. One with only a `name` disappears when nobody "
        "uses it.",
        mutability=Special(
            "A consumer is durable from its creation on. The server would take another durable_name, and forget "
            "the consumer and its position after its next restart.",
            lambda _: True,
        ),
        example="etl",
    ),
    Field(
        name="name",
        type=Text(255),
        meaning="The name of the consumer: no white space, and none of `. * > / \\`. Equal to `durable_name` if "
        "both are given.",
        since="2.9",
        mutability=NEVER,
        example="etl",
    ),
    Field(
        name="description",
        type=Text(MAX_DESCRIPTION_BYTES),
        meaning="A text for people.",
        since="2.3.3",
        example="Loads orders into the lake",
    ),
    METADATA,
)

_MESSAGES = (
    Field(
        name="deliver_policy",
        type=Choice(
            (
                Option("all", "from the first message that there is"),
                Option("last", "from the last one that there is"),
                Option("new", "from the next one that comes"),
                Option("by_start_sequence", "from `opt_start_seq` on"),
                Option("by_start_time", "from `opt_start_time` on"),
                Option("last_per_subject", "from the last one of each subject"),
            )
        ),
        meaning="Where the consumer begins.",
        default="all",
        mutability=NEVER,
        example="new",
    ),
    Field(
        name="opt_start_seq",
        type=Whole(),
        meaning="The first sequence, with `deliver_policy` by_start_sequence.",
        mutability=NEVER,
        unit="sequence",
        example=100,
    ),
    Field(
        name="opt_start_time",
        type=Time(),
        meaning="The time of the first message, with `deliver_policy` by_start_time.",
        mutability=NEVER,
        example="2026-01-31T12:00:00Z",
    ),
    Field(
        name="filter_subject",
        type=Text(),
        meaning="Deliver only messages of these subjects; absent is all.",
        example="orders.eu.>",
    ),
    Field(
        name="filter_subjects",
        type=ListOf(of=Text(), ordered=False),
        meaning="Several such subjects, of which none may include another. Not together with `filter_subject`.",
        since="2.10",
        example=["orders.eu.>", "orders.us.>"],
    ),
    Field(
        name="headers_only",
        type=Flag(),
        meaning="Deliver without payloads, and the size of each in the header `Nats-Msg-Size`.",
        default=False,
        since="2.6.2",
        example=True,
    ),
    Field(
        name="replay_policy",
        type=Choice((Option("instant", "as fast as they are taken"), Option("original", "as slowly as they came"))),
        meaning="How fast messages are delivered.",
        default="instant",
        mutability=NEVER,
        example="original",
    ),
)

_ACKNOWLEDGEMENT = (
    Field(
        name="ack_policy",
        type=Choice(
            (
                Option("none", "nothing is acknowledged: what is delivered counts as done"),
                Option("all", "one acknowledgement is for all messages up to it"),
                Option("explicit", "each message is acknowledged by itself"),
                Option("flow_control", "by flow control, for copying between streams: push only", since="2.14"),
            )
        ),
        meaning="What counts as done. The server's own default is none, with which a message is lost if whoever took "
        "it fails: this library says explicit where nothing is given.",
        default="none",
        mutability=NEVER,
        example="explicit",
    ),
    Field(
        name="ack_wait",
        type=Duration(),
        meaning="How long after its delivery a message may be unacknowledged before it is delivered again. It starts "
        "when the message is sent, not when work on it begins.",
        default=Derived("30 s if `ack_policy` is explicit or all; the first of `backoff` if that is given", _ack_wait),
        unit="nanoseconds",
        example=60 * SECOND,
    ),
    Field(
        name="backoff",
        type=ListOf(of=Duration()),
        meaning="Ack waits by attempt, the last one for all that follow. Takes the place of `ack_wait`; a negative "
        "acknowledgement is not delayed by it.",
        since="2.7.1",
        unit="nanoseconds",
        example=[SECOND, 10 * SECOND],
    ),
    Field(
        name="max_deliver",
        type=Whole(unlimited=True),
        meaning="How often a message is delivered at most. After that it stays in the stream, and a work queue never "
        "lets it go by itself.",
        default=-1,
        unit="deliveries",
        example=5,
    ),
    Field(
        name="max_ack_pending",
        type=Whole(minimum=-1),
        meaning="How many messages may be delivered and not acknowledged; then new ones wait. -1 is no limit. "
        "Messages that are to be delivered later, after a delayed negative acknowledgement, count.",
        default=Derived(
            "1000 if anything is acknowledged, or what stream, account and server limit it to", _max_ack_pending
        ),
        unit="messages",
        example=5000,
    ),
    Field(
        name="sample_freq",
        type=Percentage(),
        meaning="For which share of acknowledgements the server publishes how long they took.",
        unit="per cent",
        example="25%",
    ),
)

_PULL = (
    Field(
        name="max_waiting",
        type=Whole(),
        meaning="How many pull requests may wait at once, of all clients together. Beyond that, requests with "
        "heartbeats are dropped without a word.",
        default=_pull_only(DEFAULT_MAX_WAITING),
        mutability=NEVER,
        unit="requests",
        example=64,
    ),
    Field(
        name="max_batch",
        type=Whole(),
        meaning="How many messages one pull request may ask for; 0 is no limit.",
        default=Derived("0, or the limit that the server sets", _max_batch),
        since="2.7",
        unit="messages",
        example=500,
    ),
    Field(
        name="max_expires",
        type=Duration(minimum=MILLISECOND),
        meaning="How long one pull request may wait; 0 is no limit.",
        since="2.7",
        unit="nanoseconds",
        example=30 * SECOND,
    ),
    Field(
        name="max_bytes",
        type=Whole(),
        meaning="How many bytes one pull request may ask for; 0 is no limit.",
        since="2.8.3",
        unit="bytes",
        example=1_048_576,
    ),
    Field(
        name="priority_policy",
        type=Choice(
            (
                Option("none", "all pull requests are equal"),
                Option("overflow", "a request may wait until enough messages are pending", since="2.11"),
                Option("pinned_client", "one client gets all messages until it is gone", since="2.11"),
                Option("prioritized", "requests with a lower number are served first", since="2.12"),
            )
        ),
        meaning="Which pull requests are served first.",
        default="none",
        since="2.11",
        mutability=Special(
            "The policy belongs to the consumer from its creation on: clients that pull would be refused.",
            lambda _: True,
        ),
        example="pinned_client",
    ),
    Field(
        name="priority_groups",
        type=ListOf(of=Text(16), ordered=False),
        meaning="The name of the group that pull requests belong to: one, of letters, digits and `- _ / =`.",
        since="2.11",
        mutability=Special(
            "The group belongs to the consumer from its creation on: clients that pull for another would be refused.",
            lambda _: True,
        ),
        example=["workers"],
    ),
    Field(
        name="priority_timeout",
        type=Duration(),
        meaning="How long a pinned client may go without a new pull request before another takes its place.",
        default=Derived("2 min if `priority_policy` is pinned_client", _priority_timeout),
        since="2.11",
        unit="nanoseconds",
        example=60 * SECOND,
    ),
)

_PUSH = (
    Field(
        name="deliver_subject",
        type=Text(),
        meaning="The subject that messages are pushed to. Absent makes a pull consumer.",
        mutability=Special("A pull consumer never becomes a push consumer, or the other way round.", _turns),
        example="deliver.orders",
    ),
    Field(
        name="deliver_group",
        type=Text(),
        meaning="The queue group whose subscribers share the messages of a push consumer.",
        since="2.4",
        example="workers",
    ),
    Field(
        name="idle_heartbeat",
        type=Duration(minimum=100 * MILLISECOND),
        meaning="How often a push consumer that has nothing to deliver says so.",
        mutability=NEVER,
        unit="nanoseconds",
        example=5 * SECOND,
    ),
    Field(
        name="flow_control",
        type=Flag(),
        meaning="Let a push consumer wait for its subscriber to catch up. Needs `idle_heartbeat`.",
        default=False,
        mutability=NEVER,
        example=True,
    ),
    Field(
        name="rate_limit_bps",
        type=Whole(),
        meaning="How fast a push consumer delivers at most; 0 is no limit.",
        unit="bits per second",
        example=1_048_576,
    ),
)

_LIFE = (
    Field(
        name="inactive_threshold",
        type=Duration(),
        meaning="How long nobody may use the consumer before the server deletes it; 0 is for ever.",
        default=Derived("0 if durable, else 5 s; or what the stream's `consumer_limits` say", _inactive_threshold),
        since="2.7",
        unit="nanoseconds",
        example=3600 * SECOND,
    ),
    Field(
        name="num_replicas",
        type=Whole(maximum=MAX_REPLICAS),
        meaning="On how many servers the consumer's position is kept; 0 is as many as the stream's messages.",
        default=0,
        since="2.8.3",
        mutability=Free("With interest or work-queue retention it must be the stream's (10134)."),
        unit="servers",
        example=1,
    ),
    Field(
        name="mem_storage",
        type=Flag(),
        meaning="Keep the consumer's position in memory, whatever the stream does.",
        default=False,
        since="2.8.3",
        mutability=NEVER,
        example=True,
    ),
    Field(
        name="pause_until",
        type=Time(),
        meaning="Deliver nothing before this time. Of use at creation; later, pausing and resuming are requests of "
        "their own, and updates leave it as it is.",
        since="2.11",
        example="2036-01-31T12:00:00Z",
    ),
    Field(
        name="direct",
        type=Flag(),
        meaning="Servers mark consumers so with which they copy streams.",
        default=False,
        mutability=NEVER,
        internal=True,
    ),
    Field(
        name="sourcing",
        type=Flag(),
        meaning="Servers mark consumers so with which they copy streams.",
        default=False,
        since="2.14",
        mutability=NEVER,
        internal=True,
    ),
)

CONSUMER_FIELDS = _IDENTITY + _MESSAGES + _ACKNOWLEDGEMENT + _PULL + _PUSH + _LIFE
