"""How Connections, Streams and QueueGroups stand, for whoever looks at a local home: on a screen, or by `penstock get`.

Pure. Knows conditions and live facts. Does not know how they are drawn.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from penstock_operator.local.live_home import LiveHome
from penstock_operator.local.snapshot import ConnectionShown, GroupShown, Level, Phase, StreamShown
from penstock_operator.local.state import ConnectionRecord
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.message_loss import MESSAGE_LOSS, as_written, loss_verdicts
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.verdicts import FALSE, TRUE
from penstock_operator.resources import CONNECTION, StreamSpec

PHASES: Mapping[Phase, tuple[str, Reason]] = {
    Phase.WORKING: (TRUE, Reason.WORKING),
    Phase.IDLE: (TRUE, Reason.WORKING),
    Phase.STARTING: (FALSE, Reason.STARTING),
    Phase.STOPPING: (FALSE, Reason.SUSPENDED),
    Phase.STOPPED: (FALSE, Reason.SUSPENDED),
    Phase.PAUSED: (FALSE, Reason.SUSPENDED),
    Phase.WAITING: (FALSE, Reason.CONSUMER_NOT_READY),
    Phase.CIRCUIT_OPEN: (FALSE, Reason.CIRCUIT_OPEN),
    Phase.FAILED: (FALSE, Reason.CODE_FAILED),
    Phase.FINISHED: (TRUE, Reason.SCALED_TO_ZERO),
}
"""What each phase is as the condition Ready, by the reasons that the operator of a cluster gives."""


def group_status(shown: GroupShown, *, is_invalid: bool) -> dict[str, Any]:
    """Return a group's status as the operator of a cluster would write it. One that is invalid cannot be run at all."""
    status, reason = (FALSE, Reason.INVALID) if is_invalid else PHASES[shown.phase]
    workers = shown.workers
    if shown.phase is Phase.IDLE and not workers.running:
        reason = Reason.SCALED_TO_ZERO
    said = f"{shown.phase}: {workers.ready} of {workers.desired} workers are ready."
    ready = {"type": "Ready", "status": status, "reason": reason.value, "message": shown.message or said}
    facts = {
        "replicas": workers.running,
        "readyReplicas": workers.ready,
        "desiredReplicas": workers.desired,
        "busyReplicas": workers.busy,
        "held": shown.held,
        "batches": shown.in_flight,
        "pending": shown.pending,
        "ackPending": shown.ack_pending,
        MESSAGE_LOSS: as_written(shown.loss),
    }
    losses = [
        {"type": each.type.value, "status": each.status, "reason": each.reason.value, "message": each.message}
        for each in loss_verdicts(shown.loss)
    ]
    return {"conditions": [ready, *losses], **{name: value for name, value in facts.items() if value is not None}}


def connections_shown(records: Iterable[ConnectionRecord], home: LiveHome) -> Iterator[ConnectionShown]:
    for record in records:
        state, level, message = _standing(Identity(CONNECTION.name, record.namespace, record.name), home)
        yield ConnectionShown(
            namespace=record.namespace,
            name=record.name,
            url=", ".join(record.servers),
            is_embedded=record.embedded,
            state=state,
            level=level,
            message=message,
        )


def streams_shown(home: LiveHome) -> Iterator[StreamShown]:
    for identity, declared in home.declared.items():
        if not isinstance(declared.spec, StreamSpec):
            continue
        state, level, message = _standing(identity, home)
        yield StreamShown(
            namespace=identity.namespace,
            name=identity.name,
            stream=declared.spec.name or identity.name,
            messages=declared.status.get("messages"),
            bytes=declared.status.get("bytes"),
            state=state,
            level=level,
            message=message,
        )


def _standing(identity: Identity, home: LiveHome) -> tuple[str, Level, str]:
    ready = home.ready(identity)
    if ready is None:
        return "Starting", Level.INFO, ""
    if ready["status"] == "True":
        return ("Connected" if identity.kind == CONNECTION.name else "Ready"), Level.INFO, ""
    return str(ready["reason"]), Level.WARNING, str(ready["message"])
