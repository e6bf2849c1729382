"""What is said of a queue group in its status: whether what is declared works, how many workers there are, and why.

Pure. Ready is True only if at least one worker of what is declared now works, or none is needed. Sentences change when
something happens, never with counters alone. Knows conditions. Decides nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock_operator.plan.decision import ConditionType, Note, Verdict
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.fleet.ailments import ailment_of
from penstock_operator.plan.fleet.deployments import Rollout, read_deployment
from penstock_operator.plan.fleet.last_words import ended
from penstock_operator.plan.fleet.pods import WorkerPod
from penstock_operator.plan.fleet.troubles import Trouble, has_open_circuit, works, worst
from penstock_operator.plan.message_loss import MESSAGE_LOSS, as_written, loss_notes, loss_verdicts, written_loss
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.scaling import Decision, Why
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.plan.verdicts import FALSE, TRUE, UNDECIDED, UNKNOWN
from penstock_operator.resources import QueueGroupSpec
from penstock_operator.resources.message_loss import MessageLoss
from penstock_operator.resources.queue_group_scaling import ScalingMode

STOPPED_REVISION = "stoppedRevision"
DESIRED = "desiredReplicas"
STOPPED = "The code cannot process what it is given. Correct it: the group goes on with the next revision."

Statuses = Mapping[str, Mapping[str, Any]]
Said = tuple[str, Reason, str]
"""A condition's status, reason and message."""


@dataclass(frozen=True, slots=True)
class Situation:
    """All that is known of a group and its workers at one moment."""

    declared: Declared
    obstacle: Waiting | None
    """What is in the way of its workers; None if nothing is."""
    deployment: Mapping[str, Any] | None
    pods: Sequence[WorkerPod]
    statuses: Statuses
    """What workers said of themselves, by name; who did not answer is not there."""
    is_looked_at: bool = True
    """Whether anybody has asked the server and the workers since this replica leads."""
    pending: int | None = None
    ack_pending: int | None = None
    loss: MessageLoss | None = None
    """Messages that the consumer never processed; None if stream and consumer were never read."""
    decision: Decision | None = None
    """None: somebody else decides how many there are, or nobody has yet."""
    desired: int | None = None
    """How many workers there are to be; None before that is known."""
    selector: str = ""
    revision: str = ""
    """The print of the pods that are declared now; empty where it is that of the Deployment."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is to be said."""

    verdicts: tuple[Verdict, ...]
    facts: Mapping[str, Any] | None
    """Of the status, besides conditions; None: those that are written stay."""
    notes: tuple[Note, ...] = ()


def stopped_by(revision: str, pods: Sequence[WorkerPod], status: Mapping[str, Any]) -> str:
    """Return the revision if its code has stopped the group, now or before; nothing if it has not.

    A group that is stopped has no workers before something changes: the same code would fail again on the same.
    """
    fails = any(_has_failed_code(pod) for pod in pods if pod.revision == revision)
    return revision if revision and (fails or status.get(STOPPED_REVISION) == revision) else ""


def _has_failed_code(pod: WorkerPod) -> bool:
    ailment = ailment_of(pod)
    return ailment is not None and ailment.reason is Reason.CODE_FAILED


def standing(of: Situation) -> Standing:
    """Say how a group stands."""
    seen = _Seen.look(of)
    ready = _verdict(ConditionType.READY, _ready(seen))
    verdicts = (
        ready,
        _verdict(ConditionType.AVAILABLE, _available(seen, ready)),
        _scaling(seen, ready),
        _verdict(ConditionType.CIRCUIT_OPEN, _circuit(seen)),
        *loss_verdicts(of.loss),
    )
    return Standing(verdicts, _facts(seen), tuple(_notes(seen, verdicts)))


@dataclass(frozen=True, slots=True)
class _Seen:
    """A situation, with what is counted in it."""

    of: Situation
    rollout: Rollout | None
    there: list[WorkerPod]
    current: list[WorkerPod]
    """Of what is declared now."""
    at_work: int
    current_at_work: int
    stopped: str

    @classmethod
    def look(cls, of: Situation) -> "_Seen":
        rollout = read_deployment(of.deployment) if of.deployment is not None else None
        revision = of.revision or (rollout.revision if rollout else "")
        there = [pod for pod in of.pods if pod.is_there]
        current = [pod for pod in there if pod.revision == revision]
        at_work, current_at_work = (sum(works(pod, of.statuses) for pod in pods) for pods in (there, current))
        stopped = stopped_by(revision, of.pods, of.declared.status)
        return cls(of, rollout, there, current, at_work, current_at_work, stopped)

    @property
    def former(self) -> Mapping[str, Mapping[str, Any]]:
        """The conditions that are in the status, by their type."""
        return {each["type"]: each for each in self.of.declared.status.get("conditions") or ()}

    @property
    def is_suspended(self) -> bool:
        spec = self.of.declared.spec
        return isinstance(spec, QueueGroupSpec) and spec.suspend

    @property
    def is_external(self) -> bool:
        spec = self.of.declared.spec
        return isinstance(spec, QueueGroupSpec) and spec.scaling.mode is ScalingMode.EXTERNAL

    @property
    def trouble(self) -> Trouble | None:
        """What matters most of what keeps current workers from working, or from being made."""
        found = worst(self.current, self.of.statuses)
        if self.rollout and self.rollout.refused and (missing := self.rollout.asked - len(self.current)) > 0:
            refused = f"The API server makes no more pods: {ended(self.rollout.refused)}"
            return found or Trouble(Reason.PODS_REFUSED, refused, missing)
        return found


def _verdict(kind: ConditionType, said: Said) -> Verdict:
    return Verdict(kind, *said)


def _ready(seen: _Seen) -> Said:
    of = seen.of
    if of.declared.spec is None:
        return FALSE, Reason.INVALID, of.declared.fault
    if of.obstacle:
        status = UNKNOWN if of.obstacle.reason in UNDECIDED else FALSE
        return status, of.obstacle.reason, of.obstacle.message
    if seen.is_suspended:
        return FALSE, Reason.SUSPENDED, _suspended(seen)
    if seen.stopped:
        return FALSE, Reason.CODE_FAILED, _why_stopped(seen)
    if seen.current_at_work:
        return _working(seen)
    return _not_working(seen)


def _suspended(seen: _Seen) -> str:
    rest = f" {_do(len(seen.there), 'finishes what it holds', 'finish what they hold')}." if seen.there else ""
    return f"spec.suspend is true: nothing is pulled.{rest}"


def _why_stopped(seen: _Seen) -> str:
    """Say why the code failed: as its worker says, or, once that is gone, as was said before."""
    for pod in seen.of.pods:
        ailment = ailment_of(pod) if pod.revision == seen.stopped else None
        if ailment and ailment.reason is Reason.CODE_FAILED:
            return ailment.message
    former = seen.former.get(ConditionType.READY, {})
    return str(former["message"]) if former.get("reason") == Reason.CODE_FAILED else STOPPED


def _working(seen: _Seen) -> Said:
    older = len(seen.there) - len(seen.current)
    total = _workers(len(seen.current))
    number = total if seen.current_at_work == len(seen.current) else f"{seen.current_at_work} of {total}"
    said = f"{number} can work."
    if trouble := seen.trouble:
        said = f"{said} {trouble.workers} cannot ({trouble.reason}): {trouble.message}"
    if older:
        return TRUE, Reason.ROLLING_OUT, f"{said} {_workers(older)} of a revision before {_is(older)} still there."
    return TRUE, Reason.WORKING, said


def _not_working(seen: _Seen) -> Said:
    of, older = seen.of, len(seen.there) - len(seen.current)
    if trouble := seen.trouble:
        several = f"{trouble.workers} of {_workers(len(seen.current))}: " if len(seen.current) > 1 else ""
        rest = f" {_workers(seen.at_work)} of a revision before can work." if seen.at_work else ""
        return FALSE, trouble.reason, f"{several}{trouble.message}{rest}"
    if of.decision and of.decision.why is Why.UNKNOWN:
        return FALSE, Reason.UNREACHABLE, "Nobody can say what is pending, and there is no worker."
    if older:
        return (
            FALSE,
            Reason.ROLLING_OUT,
            f"Workers of the new revision start. {_workers(older)} {_is(older)} of one before.",
        )
    if of.desired == 0 and not seen.there:
        return TRUE, Reason.SCALED_TO_ZERO, _zero(seen)
    said = f"{_do(len(seen.there), 'starts', 'start')}." if seen.there else "Workers are being made."
    return FALSE, Reason.STARTING, said


def _zero(seen: _Seen) -> str:
    return "spec.replicas is 0." if seen.is_external else "There is nothing to do, and so there are no workers."


def _workers(number: int) -> str:
    return "1 worker" if number == 1 else f"{number} workers"


def _do(number: int, one: str, several: str) -> str:
    return f"{_workers(number)} {one if number == 1 else several}"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _available(seen: _Seen, ready: Verdict) -> Said:
    if seen.at_work:
        return TRUE, Reason.WORKING, "There are workers that can work."
    if ready.status == TRUE:
        return TRUE, Reason.SCALED_TO_ZERO, "None is needed."
    return FALSE, ready.reason, ready.message


def _scaling(seen: _Seen, ready: Verdict) -> Verdict:
    """Say who decides how many there are, and why that many. The sentence is of the moment at which it was decided."""
    kind, decision = ConditionType.SCALING, seen.of.decision
    if seen.of.obstacle or seen.is_suspended or seen.stopped or seen.of.declared.spec is None:
        return Verdict(kind, FALSE, ready.reason, "The number of workers is not decided as long as this is so.")
    if seen.is_external:
        return Verdict(kind, FALSE, Reason.EXTERNAL, "spec.scaling.mode is External: /scale sets spec.replicas.")
    if decision is None:
        return Verdict(kind, UNKNOWN, Reason.STARTING, "It has not been decided yet.")
    former = seen.former.get(kind, {})
    is_same = former.get("reason") == decision.why and seen.of.declared.status.get(DESIRED) == decision.workers
    status = FALSE if decision.why is Why.UNKNOWN else TRUE
    return Verdict(
        kind, status, Reason(decision.why.value), str(former["message"]) if is_same else _sentence(decision.words)
    )


def _sentence(words: str) -> str:
    return ended(f"{words[:1].upper()}{words[1:]}")


def _circuit(seen: _Seen) -> Said:
    heard = [seen.of.statuses[pod.name] for pod in seen.there if pod.name in seen.of.statuses]
    broken = [status for status in heard if has_open_circuit(status)]
    if broken:
        sentences = sorted(str(status.get("sentence") or "") for status in broken)
        return TRUE, Reason.CIRCUIT_OPEN, f"{len(broken)} of {_workers(len(seen.there))}: {ended(sentences[0])}"
    if seen.there and not heard:
        return UNKNOWN, Reason.STARTING, "No worker has said how it stands."
    return FALSE, Reason.WORKING, "No worker waits because batches failed one after the other."


def _facts(seen: _Seen) -> Mapping[str, Any] | None:
    of, rollout = seen.of, seen.rollout
    if of.obstacle and rollout is None:
        return None
    pods = {"replicas": len(seen.there), "readyReplicas": sum(pod.is_ready for pod in seen.there)}
    made = {"image": rollout.image} if rollout else {}
    if of.obstacle:  # nobody asks the workers then
        return {**_written(of.declared.status), **pods, **made}
    own = {"selector": of.selector or None, STOPPED_REVISION: seen.stopped or None}
    if not of.is_looked_at:  # nobody has asked them yet
        return {**_written(of.declared.status), **pods, **made, **own}
    told = [of.statuses[pod.name] for pod in of.pods if pod.name in of.statuses]
    return {
        **pods,
        **made,
        **own,
        DESIRED: of.desired,
        "busyReplicas": sum(bool(status.get("heldMessages") or status.get("batches")) for status in told),
        "pending": of.pending,
        "ackPending": of.ack_pending,
        MESSAGE_LOSS: as_written(of.loss),
        "held": sum(int(status.get("heldMessages") or 0) for status in told),
        "batches": sum(len(status.get("batches") or ()) for status in told),
    }


def _written(status: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in status.items() if name not in ("conditions", "observedGeneration")}


def _notes(seen: _Seen, verdicts: Sequence[Verdict]) -> list[Note]:
    """Return what is worth an event: another reason than before, and each step up or down."""
    found = []
    for verdict in verdicts:
        former = seen.former.get(verdict.type, {})
        if verdict.type is ConditionType.READY and former.get("reason") != verdict.reason:
            found.append(Note(verdict.reason, verdict.message, is_warning=verdict.status == FALSE and _is_bad(verdict)))
        if verdict.type is ConditionType.CIRCUIT_OPEN and verdict.status == TRUE != former.get("status"):
            found.append(Note(verdict.reason, verdict.message, is_warning=True))
    found += loss_notes(written_loss(seen.of.declared.status), seen.of.loss)
    before, decision = seen.of.declared.status.get(DESIRED), seen.of.decision
    if decision is not None and before is not None and before != decision.workers:
        found.append(Note(Reason.SCALED, _sentence(decision.words)))
    return list(dict.fromkeys(found))


def _is_bad(verdict: Verdict) -> bool:
    return verdict.reason not in (Reason.STARTING, Reason.ROLLING_OUT, Reason.SUSPENDED)
