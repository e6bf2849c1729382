"""From the names in a manifest to a place on a server: which Connection leads there, and whether it may be used.

Pure: what is declared and how links are doing come in. Knows references, allowedNamespaces, and label selectors. Does
not know what happens at the place (reconcile.py), nor who may have it (claims.py).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from typing_extensions import override

from penstock_operator.plan.case import CONNECTION, SYNCED_GENERATION
from penstock_operator.plan.connections import Connected, Connecting, Failing, LinkState
from penstock_operator.plan.decision import ConditionType
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Place, Waiting
from penstock_operator.resources import ConnectionSpec, ConsumerSpec, QueueGroupSpec, StreamSpec
from penstock_operator.resources.management import Policy
from penstock_operator.resources.references import (
    AllowedNamespaces,
    ConnectionRef,
    LabelRequirement,
    LabelSelector,
    NamespacesFrom,
    StreamRef,
)

Labels = Mapping[str, str]

STREAM_NAME, CONSUMER_NAME = "streamName", "consumerName"
"""In the status: what it is called on the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What references are resolved in."""

    declared: Mapping[Identity, Declared]
    links: Mapping[Identity, LinkState]
    """By Connection; one that is not there is being opened."""
    namespaces: Mapping[str, Labels] = field(default_factory=dict)
    """The labels of each namespace that a selector asks for. What is not there is not known."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """Where an object is, and which Connection leads there."""

    place: Place
    connection: Identity

    @override
    def __str__(self) -> str:
        return _told(self.place.stream, self.place.consumer, self.connection)


def resolve(declared: Declared, world: World) -> Resolved | Waiting:
    """Find the place of a Stream or Consumer whose spec can be understood.

    What is to be deleted is where it was last seen, wherever its references lead by now.
    """
    seen = last_seen(declared, world) if declared.deleting else None
    return seen or _referred(declared, world)


def whereabouts(declared: Declared, world: World) -> Resolved | Waiting:
    """Find the place of a Stream or Consumer even while something else keeps it from being made there: to look at."""
    return _referred(replace(declared, deleting=True), world)


def former(declared: Declared, at: Resolved, world: World) -> Resolved | Waiting | None:
    """Find where an object was until now; None if that is where it is declared to be.

    Where it cannot be looked, the same name over the same Connection is the same place.
    """
    was = last_seen(declared, world)
    if isinstance(was, Waiting):
        return None if was_told(declared) == str(at) else was
    return None if was is None or was.place == at.place else was


def was_told(declared: Declared) -> str:
    """Tell what an object was last, as its status remembers it: stream ORDERS over Connection shop/nats."""
    names = declared.status
    return _told(str(names.get(STREAM_NAME)), str(names.get(CONSUMER_NAME) or ""), connection_of(declared))


def _told(stream: str, consumer: str, connection: Identity | None) -> str:
    what = f"consumer {consumer} of stream {stream}" if consumer else f"stream {stream}"
    return f"{what} over {connection}"


def _referred(declared: Declared, world: World) -> Resolved | Waiting:
    match declared.spec:
        case StreamSpec(connection_ref=reference, name=name):
            connection = _connection(declared, reference)
            return _through(declared, connection, world, stream=name or declared.identity.name)
        case ConsumerSpec(name=name) as spec:
            return _consumer(declared, spec, world, name or declared.identity.name)
        case _:
            raise TypeError(f"{declared.identity} declares nothing on a server.")


def last_seen(declared: Declared, world: World) -> Resolved | Waiting | None:
    """Find where an object was ours last; None if it never was."""
    connection, names = connection_of(declared), declared.status
    if connection is None or not names.get(STREAM_NAME):
        return None
    stream, consumer = names[STREAM_NAME], names.get(CONSUMER_NAME) or ""
    return _through(declared, connection, world, stream=stream, consumer=consumer)


def depends_on(declared: Declared, world: Mapping[Identity, Declared]) -> frozenset[Identity]:
    """Return what a Stream, Consumer or QueueGroup depends on: when one of these changes, it is to be looked at again.

    What is not there yet is named as well: that it comes is a change.
    """
    return frozenset(_references(declared, world))


def _references(declared: Declared, world: Mapping[Identity, Declared]) -> Iterator[Identity]:
    spec, seen = declared.spec, connection_of(declared)
    if seen:
        yield seen  # what is to go from where it was needs the way there
    if isinstance(spec, StreamSpec | ConsumerSpec) and spec.connection_ref:
        yield _connection(declared, spec.connection_ref)
    if isinstance(spec, QueueGroupSpec):
        consumer = Identity("Consumer", declared.identity.namespace, spec.consumer_ref.name)
        yield consumer
        if consumer in world:
            yield from _references(world[consumer], world)
        if spec.dead_letter.stream_ref:
            yield _stream(declared, spec.dead_letter.stream_ref.name)
    if isinstance(spec, ConsumerSpec) and spec.stream_ref:
        stream = _stream(declared, spec.stream_ref.name)
        yield stream
        if stream in world:
            yield from _references(world[stream], world)


def _connection(declared: Declared, reference: ConnectionRef) -> Identity:
    return Identity("Connection", reference.namespace or declared.identity.namespace, reference.name)


def _stream(declared: Declared, name: str) -> Identity:
    return Identity("Stream", declared.identity.namespace, name)


def _consumer(declared: Declared, spec: ConsumerSpec, world: World, name: str) -> Resolved | Waiting:
    match spec:
        case ConsumerSpec(stream_ref=StreamRef(name=stream)):
            return _in_declared_stream(declared, _stream(declared, stream), world, name)
        case ConsumerSpec(connection_ref=ConnectionRef() as reference, stream=str(stream)):
            return _through(declared, _connection(declared, reference), world, stream=stream, consumer=name)
        case _:
            return Waiting(Reason.INVALID, "A Consumer names its stream by streamRef, or by connectionRef and stream.")


def _in_declared_stream(declared: Declared, identity: Identity, world: World, name: str) -> Resolved | Waiting:
    stream = world.declared.get(identity)
    if stream is None:
        return Waiting(Reason.STREAM_NOT_FOUND, f"There is no {identity}.", lost=True)
    if not isinstance(stream.spec, StreamSpec):
        return Waiting(Reason.STREAM_NOT_READY, f"The spec of {identity} cannot be understood: {stream.fault}")
    if not declared.deleting and (unready := _why_unready(stream, stream.spec)):
        return Waiting(Reason.STREAM_NOT_READY, unready)
    at = _referred(stream, world)
    if isinstance(at, Waiting):
        return at
    if not declared.deleting and former(stream, at, world):
        return Waiting(Reason.STREAM_NOT_READY, f"{identity} is not yet the {at}.")
    return replace(at, place=replace(at.place, consumer=name))


def connection_of(declared: Declared) -> Identity | None:
    """Return the Connection that last led to what an object declares, as its status remembers."""
    namespace, _, name = str(declared.status.get(CONNECTION) or "").partition("/")
    return Identity("Connection", namespace, name) if name else None


def _why_unready(stream: Declared, spec: StreamSpec) -> str:
    """Tell why nothing can be made in a stream yet. One that was in sync before is still there, whatever ails it."""
    if stream.deleting:
        return f"{stream.identity} is being deleted."
    if spec.management.policy is Policy.OBSERVE or stream.status.get(SYNCED_GENERATION):
        return ""
    ready = next((c for c in stream.status.get("conditions") or () if c["type"] == ConditionType.READY), None)
    return f"{stream.identity} is not ready: {ready['message']}" if ready else f"{stream.identity} is not ready yet."


def _through(
    declared: Declared, identity: Identity, world: World, *, stream: str, consumer: str = ""
) -> Resolved | Waiting:
    """Follow an object's reference to a Connection, if its namespace is allowed to."""
    connection = world.declared.get(identity)
    if connection is None:
        return Waiting(Reason.CONNECTION_NOT_FOUND, f"There is no {identity}.", lost=True)
    if not isinstance(connection.spec, ConnectionSpec):
        return Waiting(Reason.CONNECTION_NOT_READY, f"The spec of {identity} cannot be understood: {connection.fault}")
    if not allows(
        connection.spec.allowed_namespaces, identity.namespace, declared.identity.namespace, world.namespaces
    ):
        message = f"{identity} does not allow namespace {declared.identity.namespace}: its allowedNamespaces decide."
        return Waiting(Reason.CONNECTION_NOT_ALLOWED, message)
    link = world.links.get(identity, Connecting())
    if declared.deleting and isinstance(link, Failing) and link.still_in:
        return Resolved(Place(link.still_in, stream, consumer), identity)
    return _reached(identity, link, stream, consumer)


def _reached(connection: Identity, state: LinkState, stream: str, consumer: str) -> Resolved | Waiting:
    match state:
        case Connected(account=account):
            return Resolved(Place(account, stream, consumer), connection)
        case Connecting():
            return Waiting(Reason.CONNECTING, f"{connection} is being opened.")
        case Failing(message=message):
            return Waiting(Reason.CONNECTION_NOT_READY, f"{connection} is not ready: {message}")


def allows(allowed: AllowedNamespaces, own: str, other: str, namespaces: Mapping[str, Labels]) -> bool:
    """Tell whether what is in one namespace may be referred to from another."""
    if own == other or allowed.from_ is NamespacesFrom.ALL:
        return True
    if allowed.selector is None or other not in namespaces:
        return False
    return selects(allowed.selector, namespaces[other])


def selects(selector: LabelSelector, labels: Labels) -> bool:
    """Tell whether labels meet a selector, as everywhere in Kubernetes: an empty one is met by all."""
    equal = all(labels.get(key) == value for key, value in selector.match_labels.items())
    return equal and all(_meets(labels, requirement) for requirement in selector.match_expressions)


def _meets(labels: Labels, requirement: LabelRequirement) -> bool:
    match requirement.operator:
        case "In":
            return labels.get(requirement.key) in requirement.values
        case "NotIn":
            return labels.get(requirement.key) not in requirement.values
        case "Exists":
            return requirement.key in labels
        case "DoesNotExist":
            return requirement.key not in labels
