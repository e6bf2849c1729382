"""What a server says of a stream or consumer, as plans want it: its raw configuration, and facts for the status.

Knows the names of the facts, which are those of StreamStatus and ConsumerStatus. Does not ask anybody.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from penstock_jetstream import ConsumerInfo, StreamInfo
from penstock_operator.plan.message_loss import ConsumerPosition, removing_limits, takes_all
from penstock_operator.plan.surroundings import Present

_OF_THE_SERVER = frozenset({"_nats.level", "_nats.ver"})


def stream_present(info: StreamInfo, alone: str = "") -> Present:
    """Read it; `alone` is the only server that there is, which does not always name itself."""
    state = info.state
    facts = {
        "streamName": info.name,
        "messages": state.messages,
        "bytes": state.size_bytes,
        "firstSequence": state.first_sequence,
        "lastSequence": state.last_sequence,
        "firstMessageTime": _written(state.first_time),
        "lastMessageTime": _written(state.last_time),
        "subjectsCount": state.subjects_count,
        "deletedMessages": state.deleted_count,
        "consumers": state.consumers,
        "mirrorLag": info.mirror.lag if info.mirror else None,
        "createdAt": _written(info.created),
        "cluster": (info.cluster.name or None) if info.cluster else None,
        **_servers(info, alone),
    }
    return Present(_lasting(info.config), _known(facts))


def is_of_deleted_stream(made: StreamInfo) -> bool:
    """Tell whether a stream that was made just now has the state of one that its server was still deleting.

    Such a stream has messages, or the numbers of messages, from before its own time. Its files are gone, so that it
    stores nothing, and what it shows cannot be read. Mirrors and sources bring messages with times of their own.
    """
    if not made.raw.get("did_create") or made.mirror or made.sources or made.created is None:
        return False
    last_before = max(int(made.config.get("first_seq") or 0), 1) - 1
    state = made.state
    return state.last_sequence > last_before and (state.last_time is None or state.last_time < made.created)


def consumer_present(info: ConsumerInfo, alone: str = "") -> Present:
    """Read it, as above."""
    facts = {
        "streamName": info.stream,
        "consumerName": info.name,
        "pending": info.num_pending,
        "ackPending": info.num_ack_pending,
        "redelivered": info.num_redelivered,
        "waiting": info.num_waiting,
        "deliveredSequence": info.delivered.stream_sequence,
        "ackFloorSequence": info.ack_floor.stream_sequence,
        "lastDeliveryTime": _written(info.delivered.last_active),
        "lastAckTime": _written(info.ack_floor.last_active),
        "pushBound": info.is_push_bound if info.config.get("deliver_subject") else None,
        "paused": info.pause.is_paused,
        "pausedUntil": _written(info.pause.until) if info.pause.is_paused else None,
        "createdAt": _written(info.created),
        **_servers(info, alone),
    }
    return Present(_lasting(info.config), _known(facts))


def consumer_position(stream: StreamInfo, consumer: ConsumerInfo, server: str) -> ConsumerPosition:
    """Return how far a consumer is in its stream, which must have been read first from this server."""
    state, config = stream.state, consumer.config
    max_deliver = config.get("max_deliver", -1)
    return ConsumerPosition(
        incarnation=f"{_written(stream.created)} {_written(consumer.created)}",
        server=server,
        removes_acked=stream.config.get("retention", "limits") != "limits",
        first=max(1, state.first_sequence),
        last=state.last_sequence,
        deleted=state.deleted_count,
        takes_all=takes_all(stream.config, config),
        limits=removing_limits(stream.config),
        max_deliver=max_deliver if max_deliver > 0 else None,
        delivered=consumer.delivered.stream_sequence,
        deliveries=consumer.delivered.consumer_sequence,
        pending=consumer.num_pending,
        ack_pending=consumer.num_ack_pending,
        redelivered=consumer.num_redelivered,
        is_paused=consumer.pause.is_paused,
    )


def _servers(info: StreamInfo | ConsumerInfo, alone: str) -> Mapping[str, Any]:
    """Tell who holds it."""
    cluster = info.cluster
    if cluster is None:
        return {"leader": alone or None, "replicas": 1, "currentReplicas": 1}
    leaders = 1 if cluster.leader else 0
    current = sum(replica.is_current and not replica.is_offline for replica in cluster.replicas)
    return {"leader": cluster.leader, "replicas": leaders + len(cluster.replicas), "currentReplicas": leaders + current}


def _lasting(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave out what a server says of itself among the labels: only some answers have it, and it is not stored."""
    labels = config.get("metadata")
    if not labels:
        return config
    return {**config, "metadata": {name: text for name, text in labels.items() if name not in _OF_THE_SERVER}}


def _known(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}


def _written(time: datetime | None) -> str | None:
    return time.isoformat().replace("+00:00", "Z") if time else None
