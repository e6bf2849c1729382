"""What no rule about one object can see: how a Consumer, its Stream, its neighbours and its QueueGroups go together.

Pure. Knows what works, and surprises; each sentence says what will happen and what to do. What the server would refuse,
and what one object says about itself, is judged elsewhere (penstock_jetstream.config). The same text is shown by a
condition and by `penstock plan`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from penstock_jetstream.config.subjects import EVERYTHING, overlap
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.resources import ConsumerSpec, QueueGroupSpec, StreamSpec
from penstock_operator.resources.queue_group_scaling import ScalingMode
from penstock_operator.resources.scalars import seconds
from penstock_operator.resources.stream import Retention
from penstock_operator.resources.translation import stream_config

SERVERS_MAX_ACK_PENDING = 1000
SERVERS_MAX_WAITING = 512
"""What the server takes where a Consumer says nothing."""
PULLS_PER_WORKER = 3
"""A worker has up to two pull requests open; while it is replaced, the new one has its first beside them."""
SHORTEST_ACK_WAIT_SECONDS = 1.0
"""Below that, a slow network alone has messages delivered twice."""


def warnings_across(
    consumer: Declared, stream: Declared | None, neighbours: Iterable[Declared], groups: Iterable[Declared]
) -> tuple[str, ...]:
    """Judge a Consumer together with its Stream, the other Consumers of it, and the QueueGroups that share it."""
    if not isinstance(consumer.spec, ConsumerSpec):
        return ()
    retention = stream.spec.retention if stream and isinstance(stream.spec, StreamSpec) else Retention.LIMITS
    return (
        *_redelivery(consumer.spec, retention),
        *_neighbours(consumer, consumer.spec, retention, neighbours),
        *(warning for group in groups for warning in _group(consumer.spec, group)),
    )


def overlapping_streams(stream: Identity, subjects: Mapping[Identity, Sequence[str]]) -> tuple[str, ...]:
    """Name the Streams on the same server whose subjects overlap with those of a Stream."""
    return tuple(
        f"subjects: {pair[0]!r} overlaps with {pair[1]!r} of {other}, and each message is for one stream. The "
        "server will refuse one of the two."
        for other, taken in subjects.items()
        if other != stream and (pair := _overlapping(subjects[stream], taken))
    )


def subjects_of(stream: Declared) -> Sequence[str]:
    """Return the subjects that a Stream takes messages of."""
    if not isinstance(stream.spec, StreamSpec):
        return ()
    return stream_config(stream.spec, stream.identity.name).get("subjects") or ()


def _redelivery(spec: ConsumerSpec, retention: Retention) -> Iterator[str]:
    if seconds(spec.ack_wait) < SHORTEST_ACK_WAIT_SECONDS and not spec.backoff:
        yield f"ackWait: Within {spec.ack_wait} little is done: messages will be delivered twice. Use 1s or more."
    if spec.max_deliver and retention is not Retention.LIMITS:
        yield (
            f"maxDeliver: What was delivered {spec.max_deliver} times in vain stays in the stream for ever, as its "
            f"retention is {retention}. See to it that such messages are terminated, or set the stream's maxAge."
        )


def _neighbours(
    consumer: Declared, spec: ConsumerSpec, retention: Retention, neighbours: Iterable[Declared]
) -> Iterator[str]:
    """In a work queue each message is for one consumer: the server refuses the later of two that overlap."""
    if retention is not Retention.WORK_QUEUE:
        return
    for neighbour in neighbours:
        if neighbour.identity == consumer.identity or not isinstance(neighbour.spec, ConsumerSpec):
            continue
        pair = _overlapping(_filters(spec), _filters(neighbour.spec))
        if pair:
            yield (
                f"filterSubjects: {pair[0]!r} overlaps with {pair[1]!r} of {neighbour.identity}, and in a work queue "
                "each message is for one consumer. The server will refuse one of the two."
            )


def _overlapping(one: Sequence[str], other: Sequence[str]) -> tuple[str, str] | None:
    return next((pair for pair in product(one, other) if overlap(*pair)), None)


def _filters(spec: ConsumerSpec) -> list[str]:
    return spec.filter_subjects or [EVERYTHING]


def _group(spec: ConsumerSpec, group: Declared) -> Iterator[str]:
    if not isinstance(group.spec, QueueGroupSpec):
        return
    yield from _held_messages(spec, group, group.spec)
    yield from _open_pulls(spec, group, group.spec)
    if seconds(spec.ack_wait) > seconds(group.spec.batch.deadline):
        yield (
            f"ackWait: If a worker of {group.identity} dies, its messages come back only after {spec.ack_wait}, though "
            f"a batch takes no longer than {group.spec.batch.deadline}. Workers hold messages as long as they need: "
            "a shorter ackWait costs nothing."
        )


def _held_messages(spec: ConsumerSpec, group: Declared, wanted: QueueGroupSpec) -> Iterator[str]:
    workers, batch = _most_workers(wanted), wanted.batch
    held = workers * (batch.in_flight + 1) * batch.max_messages
    allowed = spec.max_ack_pending or SERVERS_MAX_ACK_PENDING
    if 0 < allowed < held:
        yield (
            f"maxAckPending: {allowed} messages may be under way, and {group.identity} may want {held} "
            f"(scaling.maxReplicas {workers} * (batch.inFlight {batch.in_flight} + 1 that is collected) * "
            f"batch.maxMessages {batch.max_messages}). "
            "Batches will be smaller: raise it, or lower batch.maxMessages or scaling.maxReplicas."
        )


def _open_pulls(spec: ConsumerSpec, group: Declared, wanted: QueueGroupSpec) -> Iterator[str]:
    workers = _most_workers(wanted)
    allowed, needed = spec.max_waiting or SERVERS_MAX_WAITING, workers * PULLS_PER_WORKER
    if allowed < needed:
        yield (
            f"maxWaiting: {allowed} pull requests may wait, and {group.identity} may need "
            f"{needed}, {PULLS_PER_WORKER} for each worker: the server drops the rest without a word. It cannot be "
            f"changed later; make it {needed} or more."
        )


def _most_workers(wanted: QueueGroupSpec) -> int:
    external = wanted.scaling.mode is ScalingMode.EXTERNAL
    return (wanted.replicas or 0) if external else wanted.scaling.max_replicas
