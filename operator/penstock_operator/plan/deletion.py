"""The end of a declared object: does what is on the server end with it, and when may the object go?

Pure. Knows the promise that both ways are kept: with Retain nothing is touched and nobody is waited for; with Delete
the object stays until the server has confirmed, or somebody has said that it shall not matter. Called by reconcile.py.
"""

from collections.abc import Callable

from penstock_jetstream.config import is_made_by_server
from penstock_operator.plan.case import Case
from penstock_operator.plan.decision import Delete, Finalizer, Next, Note, Plan
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.losses import losses_of_all
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Present, Surroundings, Unknown
from penstock_operator.plan.verdicts import unasked
from penstock_operator.resources.management import ABANDON_ANNOTATION, FINALIZER

ABANDON = "true"
WAY_OUT = f'To let the object go and leave the server alone, annotate it with {ABANDON_ANNOTATION}: "{ABANDON}".'


def plan_deletion(declared: Declared, around: Surroundings) -> Plan:
    """Decide about an object that is being deleted. Without our finalizer it goes by itself: nothing is left to do."""
    if FINALIZER not in declared.finalizers:
        return Plan(next=Next.WHEN_IT_CHANGES)
    if declared.annotations.get(ABANDON_ANNOTATION) == ABANDON:
        return _let_go(Reason.ABANDONED, f"What {declared.identity} declared stays as it is, as its annotation says.")
    if declared.spec is None:
        return _wait(Reason.INVALID, f"Its spec cannot be understood: {declared.fault}", Next.WHEN_IT_CHANGES)
    case = Case.of(declared, around)
    return next(answer for question in _QUESTIONS if (answer := question(case)))


def _let_go(reason: Reason, message: str, *, is_warning: bool = False) -> Plan:
    return Plan(
        finalizer=Finalizer.REMOVE, notes=(Note(reason, message, is_warning=is_warning),), next=Next.WHEN_IT_CHANGES
    )


def still_there(message: str) -> str:
    """Tell why an object that is to go has to stay, and what can be done about it."""
    return f"It is being deleted, and what it declares on the server with it; that has to wait. {message} {WAY_OUT}"


def _wait(reason: Reason, message: str, until: Next) -> Plan:
    return Plan(verdicts=unasked(reason, still_there(message)), next=until)


def _retained(case: Case) -> Plan | None:
    if case.deletes:
        return None
    return _let_go(Reason.RETAINED, f"The {case.it} stays on the server, as management says.")


def _paused(case: Case) -> Plan | None:
    if not case.is_paused:
        return None
    return _wait(Reason.PAUSED, "The annotation penstock.dev/reconcile pauses it.", Next.WHEN_IT_CHANGES)


def _waiting(case: Case) -> Plan | None:
    obstacle = case.around.obstacle
    return _wait(obstacle.reason, obstacle.message, Next.WHEN_IT_CHANGES) if obstacle else None


def _not_ours(case: Case) -> Plan | None:
    holder, observed = case.around.holder, case.around.observed
    if holder:
        return _let_go(
            Reason.RETAINED, f"The {case.it} stays on the server: {holder}, which comes first, declares it, too."
        )
    if case.around.heir:
        return _let_go(
            Reason.RETAINED, f"The {case.it} stays on the server: {case.around.heir} declares it, too, and has it now."
        )
    if case.kind == "Consumer" and isinstance(observed, Present) and is_made_by_server(observed.config):
        return _let_go(Reason.RETAINED, f"The {case.it} stays on the server: it belongs to the servers.")
    return None


def _unanswered(case: Case) -> Plan | None:
    observed = case.around.observed
    if not isinstance(observed, Unknown) or _is_gone(case):
        return None
    return _wait(observed.reason, observed.message, Next.AFTER_BACKOFF)


def _gone(case: Case) -> Plan | None:
    return _let_go(Reason.DELETED, f"The {case.it} was gone from the server already.") if _is_gone(case) else None


def _deleted(case: Case) -> Plan:
    observed = case.around.observed
    losses = losses_of_all(case.it, observed) if isinstance(observed, Present) else ""
    return Plan(
        action=Delete(),
        finalizer=Finalizer.REMOVE,
        losses=(losses,),
        notes=(Note(Reason.DELETED, f"Deleted the {case.it} on the server. {losses}"),),
        next=Next.WHEN_IT_CHANGES,
    )


def _is_gone(case: Case) -> bool:
    """A consumer goes with its stream."""
    observed = case.around.observed
    return isinstance(observed, Missing) or (
        isinstance(observed, Unknown) and case.kind == "Consumer" and observed.reason is Reason.STREAM_NOT_FOUND
    )


_QUESTIONS: tuple[Callable[[Case], Plan | None], ...] = (
    _retained,
    _paused,
    _waiting,
    _not_ours,
    _unanswered,
    _gone,
    _deleted,
)
"""Asked in this order; the first that has an answer decides."""
