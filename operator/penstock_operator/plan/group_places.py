"""Where a queue group's messages come from, and where those go that nobody can process: found from what is declared.

Pure, and the same in both homes. Knows references, and what a group asks of its Consumer and of a stream of dead
letters; says in a sentence what does not fit. Does not know whether any of it is on a server yet.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock_jetstream.config import losses
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.resources import ConsumerSpec, QueueGroupSpec, StreamSpec
from penstock_operator.resources.consumer import AckPolicy, PriorityPolicy
from penstock_operator.resources.translation import stream_config

ALL_BELOW = ".>"
WILDCARDS = ("*", ">")


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """All of it exists, as far as it is declared."""

    connection: Identity
    consumer_identity: Identity
    stream_identity: Identity | None
    """None: the stream is declared elsewhere, or nowhere."""
    stream: str
    """The server's names, here and below."""
    consumer: str
    dead_letter_stream: str
    dead_letter_subject: str
    """Before the original subject of each dead letter."""
    dead_letter_identity: Identity | None
    """None: the operator creates the stream (group_streams.py)."""


def group_place(group: Identity, spec: QueueGroupSpec, world: Mapping[Identity, Declared]) -> GroupPlace | Waiting:
    """Find it, or what is missing or does not fit."""
    identity = Identity("Consumer", group.namespace, spec.consumer_ref.name)
    declared = world.get(identity)
    if declared is None:
        return Waiting(Reason.CONSUMER_NOT_FOUND, f"spec.consumerRef: There is no {identity}.", lost=True)
    if not isinstance(declared.spec, ConsumerSpec):
        return Waiting(Reason.CONSUMER_NOT_READY, f"The spec of {identity} cannot be understood: {declared.fault}")
    if fault := _unfit(declared.spec):
        return Waiting(Reason.INVALID, f"spec.consumerRef: {identity} {fault}")
    source = _source(declared, declared.spec, world)
    if isinstance(source, Waiting):
        return source
    return _with_dead_letters(group, spec, source, world)


def _unfit(spec: ConsumerSpec) -> str | None:
    """Tell what of a consumer keeps its messages from being answered one by one by several workers."""
    if spec.deliver_subject:
        return "is a push consumer, and queue groups pull: leave out its deliverSubject."
    if spec.ack_policy is not AckPolicy.EXPLICIT:
        return (
            f"has ackPolicy: {spec.ack_policy}, with which single messages of a batch cannot be put aside: make it "
            f"{AckPolicy.EXPLICIT}."
        )
    if spec.priority_policy is not PriorityPolicy.NONE:
        return f"has priorityPolicy: {spec.priority_policy}, which queue groups do not have: leave it out."
    if spec.max_deliver is not None:
        return (
            f"has maxDeliver: {spec.max_deliver}. The server stops delivering a message after that many attempts, even "
            "if it was never processed. Remove maxDeliver: messages that fail become dead letters."
        )
    return None


@dataclass(frozen=True, slots=True)
class _Source:
    """Where messages come from."""

    connection: Identity
    consumer_identity: Identity
    stream_identity: Identity | None
    stream: str
    consumer: str


def _source(declared: Declared, spec: ConsumerSpec, world: Mapping[Identity, Declared]) -> _Source | Waiting:
    namespace, name = declared.identity.namespace, spec.name or declared.identity.name
    if spec.stream_ref is None:
        if spec.connection_ref is None or spec.stream is None:
            return Waiting(Reason.INVALID, f"{declared.identity} names no stream.")
        connection = Identity("Connection", spec.connection_ref.namespace or namespace, spec.connection_ref.name)
        return _Source(connection, declared.identity, None, spec.stream, name)
    identity = Identity("Stream", namespace, spec.stream_ref.name)
    stream = _stream(identity, world)
    if isinstance(stream, Waiting):
        return stream
    reference = stream.connection_ref
    connection = Identity("Connection", reference.namespace or namespace, reference.name)
    return _Source(connection, declared.identity, identity, stream.name or identity.name, name)


def _stream(identity: Identity, world: Mapping[Identity, Declared]) -> StreamSpec | Waiting:
    declared = world.get(identity)
    if declared is None:
        return Waiting(Reason.STREAM_NOT_FOUND, f"There is no {identity}.", lost=True)
    if not isinstance(declared.spec, StreamSpec):
        return Waiting(Reason.STREAM_NOT_READY, f"The spec of {identity} cannot be understood: {declared.fault}")
    return declared.spec


def _with_dead_letters(
    group: Identity, spec: QueueGroupSpec, source: _Source, world: Mapping[Identity, Declared]
) -> GroupPlace | Waiting:
    tokens = f"{source.stream}.{source.consumer}"
    facts = (source.connection, source.consumer_identity, source.stream_identity, source.stream, source.consumer)
    if spec.dead_letter.stream_ref is None:
        return GroupPlace(*facts, f"{source.stream}-{source.consumer}-dead", f"dead.{tokens}", None)
    identity = Identity("Stream", group.namespace, spec.dead_letter.stream_ref.name)
    stream = _stream(identity, world)
    if isinstance(stream, Waiting):
        return Waiting(stream.reason, f"spec.deadLetter.streamRef: {stream.message}", lost=stream.lost)
    connection = Identity("Connection", stream.connection_ref.namespace or group.namespace, stream.connection_ref.name)
    name = stream.name or identity.name
    if fault := _unfit_for_letters(stream, name, connection, source):
        return _no_grave(f"{identity} {fault}")
    prefix = _prefix(stream)
    if prefix is None:
        return _no_grave(
            f"{identity} has no subject that ends in {ALL_BELOW}, under which each message keeps its own subject: "
            "give it one, such as dead.>."
        )
    return GroupPlace(*facts, name, f"{prefix}.{tokens}", identity)


def _unfit_for_letters(stream: StreamSpec, name: str, connection: Identity, source: _Source) -> str:
    """Tell what keeps a stream from taking this group's dead letters, or has it lose them."""
    if connection != source.connection:
        return f"is over {connection}, and the messages come over {source.connection}."
    if name == source.stream:
        return "is the stream that the messages come from: they would come again and again."
    lost = next((loss for loss in losses(stream_config(stream, name), per_subject=True) if loss.at_once), None)
    return f"would lose dead letters: {lost.sentence}" if lost else ""


def _prefix(stream: StreamSpec) -> str | None:
    """Return what a subject of the stream may begin with, however it goes on."""
    for subject in stream.subjects:
        prefix = subject.removesuffix(ALL_BELOW)
        if prefix != subject and not set(prefix.split(".")) & set(WILDCARDS):
            return prefix
    return None


def _no_grave(message: str) -> Waiting:
    return Waiting(Reason.INVALID, f"spec.deadLetter.streamRef: {message}")
