"""Which workers work, and of all that keeps others from it, what matters most to a person.

Knows what workers say of themselves, and which trouble goes before which. Does not know conditions (standing.py).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock_operator.plan.fleet.ailments import Ailment, ailment_of
from penstock_operator.plan.fleet.last_words import ended, shortened
from penstock_operator.plan.fleet.pods import WorkerPod
from penstock_operator.plan.reasons import Reason

CIRCUIT = "circuit"
"""A worker's word for why it pulls nothing."""
BY_WHY = {
    "code": Reason.CODE_FAILED,
    "spark": Reason.SPARK_FAILED,
    "nats": Reason.UNREACHABLE,
    "streams": Reason.STREAM_NOT_READY,
}
"""A worker's word for why it is not ready."""
WORST_FIRST = (
    Reason.CODE_FAILED,
    Reason.INVALID,
    Reason.IMAGE_NOT_PULLED,
    Reason.SECRET_NOT_FOUND,
    Reason.PODS_REFUSED,
    Reason.SPARK_FAILED,
    Reason.CRASHING,
    Reason.UNSCHEDULABLE,
    Reason.STREAM_NOT_READY,
    Reason.UNREACHABLE,
    Reason.CIRCUIT_OPEN,
)
"""First what somebody has to change, then what may pass."""

Statuses = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Trouble:
    """What keeps some workers from working."""

    reason: Reason
    message: str
    workers: int


def works(pod: WorkerPod, statuses: Statuses) -> bool:
    """Tell whether a worker can work: by its own word, which is newer than the kubelet's, if it says one."""
    status = statuses.get(pod.name)
    return pod.is_there and (pod.is_ready if status is None else bool(status.get("ready")))


def has_open_circuit(status: Mapping[str, Any]) -> bool:
    return CIRCUIT in status.get("holds", ())


def worst(pods: Sequence[WorkerPod], statuses: Statuses) -> Trouble | None:
    """Return the trouble that matters most among these workers; of several sentences for it, the one of most."""
    found = defaultdict(list)
    for pod in pods:
        if ailment := _ailment(pod, statuses):
            found[ailment.reason].append(ailment.message)
    reason = next((reason for reason in WORST_FIRST if reason in found), None)
    if reason is None:
        return None
    messages = found[reason]
    return Trouble(reason, max(sorted(set(messages)), key=messages.count), len(messages))


def _ailment(pod: WorkerPod, statuses: Statuses) -> Ailment | None:
    if not pod.is_there or works(pod, statuses):
        return None
    return ailment_of(pod) or _own_word(statuses.get(pod.name, {}))


def _own_word(status: Mapping[str, Any]) -> Ailment | None:
    sentence = ended(shortened(str(status.get("sentence") or "")))
    if reason := BY_WHY.get(str(status.get("why") or "")):
        return Ailment(reason, sentence)
    return Ailment(Reason.CIRCUIT_OPEN, sentence) if has_open_circuit(status) else None
