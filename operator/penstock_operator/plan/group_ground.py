"""Whether what a queue group stands on is on the server: its consumer, and the stream of dead letters that it names.

Pure. Goes by what the statuses of Consumer and Stream say that the server has; once it had it, a server that cannot be
asked for a while changes nothing. Workers that were started too early would fail, and be started again later and later.
"""

from collections.abc import Mapping

from penstock_operator.plan.decision import ConditionType
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Waiting

ON_SERVER = {"Consumer": "pending", "Stream": "messages"}
"""A live fact of each kind, which its status shows exactly while the server has it."""


def why_not_there(place: GroupPlace, world: Mapping[Identity, Declared]) -> Waiting | None:
    """Return what is not on the server yet; None if workers can begin."""
    if waiting := _unless_there(place.consumer_identity, Reason.CONSUMER_NOT_READY, world):
        return waiting
    if place.dead_letter_identity is None:
        return None
    return _unless_there(place.dead_letter_identity, Reason.STREAM_NOT_READY, world)


def _unless_there(identity: Identity, reason: Reason, world: Mapping[Identity, Declared]) -> Waiting | None:
    declared = world.get(identity)
    if declared is None or declared.deleting:
        return Waiting(reason, f"{identity} is being deleted.")
    if declared.status.get(ON_SERVER[identity.kind]) is not None:
        return None
    conditions = declared.status.get("conditions") or ()
    ready = next((each for each in conditions if each["type"] == ConditionType.READY), None)
    told = f"is not ready: {ready['message']}" if ready else "is not ready yet."
    return Waiting(reason, f"{identity} {told}")
