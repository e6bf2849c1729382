"""What a queue group's spec says of its size, as the numbers that scaling decides by. Pure; the same in both homes."""

from penstock_operator.plan.scaling import Limits
from penstock_operator.plan.warnings import SERVERS_MAX_ACK_PENDING
from penstock_operator.resources import ConsumerSpec, QueueGroupSpec
from penstock_operator.resources.queue_group_scaling import ScalingMode
from penstock_operator.resources.scalars import seconds


def group_limits(spec: QueueGroupSpec, consumer: ConsumerSpec, *, quota: int | None = None) -> Limits:
    """Return the limits; with mode External, both bounds are the number that somebody else decides."""
    scaling = spec.scaling
    least, most = scaling.min_replicas, scaling.max_replicas
    if scaling.mode is ScalingMode.EXTERNAL:
        least = most = spec.replicas or 0
    return Limits(
        min_workers=least,
        max_workers=most,
        target_drain=seconds(scaling.target_drain),
        up_window=seconds(scaling.stabilization.up),
        down_window=seconds(scaling.stabilization.down),
        idle=seconds(scaling.idle),
        batch_messages=spec.batch.max_messages,
        in_flight=spec.batch.in_flight,
        max_ack_pending=SERVERS_MAX_ACK_PENDING if consumer.max_ack_pending is None else consumer.max_ack_pending,
        quota=quota,
    )
