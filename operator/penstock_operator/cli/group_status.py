"""The status of QueueGroups that no `penstock up` here runs: what their workers say of themselves, asked now.

Knows which fact of a worker's own account, and of its consumer's, is which field. How many workers there are to be is
decided by whoever runs them, and is not known here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock_jetstream.errors import JetStreamError
from penstock_operator.cli.groups import Group, with_groups
from penstock_operator.cli.sources import Sources
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.open_batches import held_messages
from penstock_operator.plan.reasons import Reason
from penstock_operator.services.nats import workers

Object = Mapping[str, Any]


def with_workers(found: Sequence[Object], sources: Sources) -> list[Object]:
    """Return the groups with what their workers and consumers say added to their statuses, where they can be asked."""
    wanted = {_identity(each) for each in found if _fits(each)}
    if not wanted:
        return list(found)
    facts = with_groups(sources, None, _facts, only=wanted)
    return [{**each, "status": {**each.get("status", {}), **_status(facts.get(_identity(each), {}))}} for each in found]


def _status(facts: Mapping[str, int]) -> Mapping[str, Any]:
    """Add that the group works, if one of its workers says so: of one that does not answer nothing is known."""
    if not facts.get("readyReplicas"):
        return facts
    message = f"{facts['readyReplicas']} of {facts['replicas']} workers are ready."
    ready = {"type": "Ready", "status": "True", "reason": Reason.WORKING.value, "message": message}
    return {**facts, "conditions": [ready]}


def _identity(found: Object) -> Identity:
    return Identity(found["kind"], found["metadata"]["namespace"], found["metadata"]["name"])


def _fits(found: Object) -> bool:
    """Tell whether there is a way to its messages, as far as is declared, and `penstock up` does not tell of it."""
    return any(each["reason"] == Reason.FITS for each in found.get("status", {}).get("conditions", ()))


async def _facts(groups: Sequence[Group]) -> dict[Identity, dict[str, int]]:
    return {group.identity: await _facts_of(group) for group in groups}


async def _facts_of(group: Group) -> dict[str, int]:
    statuses = await workers.statuses(group.connection, group.name)
    told = {
        "replicas": len(statuses),
        "readyReplicas": sum(bool(each.get("ready")) for each in statuses),
        "busyReplicas": sum(bool(each.get("heldMessages")) for each in statuses),
        "held": held_messages(statuses),
        "batches": sum(len(each.get("batches", ())) for each in statuses),
    }
    try:
        info = await group.jetstream.consumers.info(group.place.stream, group.place.consumer)
    except JetStreamError:  # its own line says what is wrong with it
        return told
    return {**told, "pending": info.num_pending, "ackPending": info.num_ack_pending}
