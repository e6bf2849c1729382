"""What is to be done about one Stream or Consumer: the heart of the operator.

Pure: the declared object and its surroundings come in, a plan goes out. Knows in which order questions are asked, and
what each answer means for the finalizer and for what people are told. Does not know Kubernetes, files, or requests.
Called by services, and by `penstock plan`.
"""

from collections.abc import Callable
from dataclasses import replace

from penstock_jetstream.config import is_made_by_server
from penstock_jetstream.config.facts import NO_FACTS
from penstock_operator.plan.alteration import plan_change, plan_creation
from penstock_operator.plan.case import Case
from penstock_operator.plan.decision import ConditionType, Delete, Failure, Finalizer, Next, Note, Plan
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.deletion import plan_deletion, still_there
from penstock_operator.plan.moves import newcomer, plan_move
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Present, Surroundings, Unknown
from penstock_operator.plan.verdicts import doubtful, failed, out_of_sync, unasked
from penstock_operator.plan.wording import problem_told, problems_told

NOT_OURS = frozenset({Reason.CONFLICT, Reason.MADE_BY_SERVER})
"""Reasons for which what is on the server is not for this object to delete, whatever its spec says."""


def plan(declared: Declared, around: Surroundings) -> Plan:
    """Decide what to do next."""
    if declared.deleting:
        return plan_deletion(declared, around)
    if declared.spec is None:
        return Plan(verdicts=unasked(Reason.INVALID, declared.fault), next=Next.WHEN_IT_CHANGES)
    case = Case.of(declared, around)
    if around.former:
        return plan_move(case, around.former, plan(newcomer(declared), replace(around, former=None)))
    decided = next(answer for question in _QUESTIONS if (answer := question(case)))
    warned = (*decided.verdicts, *doubtful(_warnings(case)))
    return replace(decided, verdicts=warned, finalizer=_finalizer(case, decided))


def plan_after(plan: Plan, failure: Failure) -> Plan:
    """Decide what to say, and when to try again, after a plan's action has failed. The result has no action.

    It may have been done nevertheless, if only the answer was lost: the next look at the server tells. What was done
    about a finalizer before the action stands; what was to be done after it is not done.
    """
    is_the_end = isinstance(plan.action, Delete) and not plan.leaves
    message = still_there(failure.message) if is_the_end else failure.message
    drifted = any(note.reason is Reason.DRIFTED for note in plan.notes)
    warning = tuple(verdict for verdict in plan.verdicts if verdict.type is ConditionType.WARNING)
    return Plan(
        differences=plan.differences,
        verdicts=(*failed(failure.reason, message, drifted=drifted), *warning),
        notes=(Note(failure.reason, message, is_warning=True),),
        next=Next.AFTER_BACKOFF,
    )


def _invalid(case: Case) -> Plan | None:
    """Ask what can be asked of the spec alone; the API server has asked most of it at `kubectl apply`."""
    errors = case.errors(NO_FACTS)
    if not errors:
        return None
    return Plan(verdicts=unasked(Reason.INVALID, problems_told(case.kind, errors)), next=Next.WHEN_IT_CHANGES)


def _paused(case: Case) -> Plan | None:
    if not case.is_paused:
        return None
    message = (
        "Paused by the annotation penstock.dev/reconcile: nobody looks, and nothing is changed, until it is removed."
    )
    return Plan(verdicts=unasked(Reason.PAUSED, message), next=Next.WHEN_IT_CHANGES)


def _waiting(case: Case) -> Plan | None:
    obstacle = case.around.obstacle
    if obstacle is None:
        return None
    return Plan(verdicts=unasked(obstacle.reason, obstacle.message), next=Next.WHEN_IT_CHANGES)


def _in_conflict(case: Case) -> Plan | None:
    holder = case.around.holder
    if holder is None or case.observes:
        return None
    message = (
        f"{holder}, which comes first, declares the {case.it} of the same server, and only one can. "
        "Delete one of the two objects (the server's stays, as the other declares it), or let this one observe."
    )
    verdicts = unasked(Reason.CONFLICT, message)
    return Plan(verdicts=verdicts, notes=(Note(Reason.CONFLICT, message, is_warning=True),), next=Next.WHEN_IT_CHANGES)


def _unanswered(case: Case) -> Plan | None:
    observed = case.around.observed
    if not isinstance(observed, Unknown):
        return None
    return Plan(verdicts=failed(observed.reason, observed.message), next=Next.AFTER_BACKOFF)


def _made_by_server(case: Case) -> Plan | None:
    observed = case.around.observed
    actual = observed.config if isinstance(observed, Present) else {}
    if case.kind == "Stream" or not (is_made_by_server(actual) or is_made_by_server(case.desired)):
        return None
    message = f"The {case.it} belongs to the servers, which copy a stream with it: Penstock leaves it alone."
    return Plan(verdicts=out_of_sync(Reason.MADE_BY_SERVER, message))


def _compared(case: Case) -> Plan:
    observed = case.around.observed
    return plan_change(case, observed) if isinstance(observed, Present) else plan_creation(case)


_QUESTIONS: tuple[Callable[[Case], Plan | None], ...] = (
    _invalid,
    _paused,
    _waiting,
    _in_conflict,
    _unanswered,
    _made_by_server,
    _compared,
)
"""Asked in this order; the first that has an answer decides."""


def _warnings(case: Case) -> tuple[str, ...]:
    own = tuple(problem_told(case.kind, problem) for problem in case.warnings())
    return own + case.around.warnings


def _finalizer(case: Case, decided: Plan) -> Finalizer:
    """Only an object whose end is one on the server, too, has a finalizer; and only from when it has that to end.

    So a finalizer tells that what is on the server is ours, even if the operator was killed before it could say so in
    the status; and without one, deletion never waits for anybody.
    """
    reason = decided.verdicts[0].reason
    if case.has_finalizer:
        return Finalizer.AS_IS if case.deletes and reason not in NOT_OURS else Finalizer.REMOVE
    ours = decided.action or reason is Reason.IN_SYNC or case.synced_generation
    return Finalizer.ADD_FIRST if case.deletes and ours and reason not in NOT_OURS else Finalizer.AS_IS
