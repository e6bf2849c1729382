"""A living object that means another place than the one where it was: what becomes of what it leaves there?

Pure. Knows the promise: nothing goes without somebody having asked for just that, and nothing stays without it being
said. Does not know what happens at the new place: that is decided as for an object that is new there (reconcile.py).
"""

from collections.abc import Callable
from dataclasses import replace

from penstock_operator.plan.case import CONNECTION, SYNCED_GENERATION, Case
from penstock_operator.plan.decision import ConditionType, Delete, Finalizer, Next, Note, Plan
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.dependencies import CONSUMER_NAME, STREAM_NAME
from penstock_operator.plan.losses import losses_of_all
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Former, Present, Unknown
from penstock_operator.plan.verdicts import TRUE, out_of_sync
from penstock_operator.resources.management import RECREATE_ANNOTATION

OF_A_PLACE = frozenset({CONNECTION, STREAM_NAME, CONSUMER_NAME, SYNCED_GENERATION})
"""What a status remembers of the place where the object is."""


def newcomer(declared: Declared) -> Declared:
    """Return the object as it is where it has never been."""
    return replace(declared, status={name: said for name, said in declared.status.items() if name not in OF_A_PLACE})


def plan_move(case: Case, former: Former, arriving: Plan) -> Plan:
    """Decide about the old place, given what is decided about the new one. Only then something happens there."""
    return next(answer for question in _QUESTIONS if (answer := question(case, former, arriving)))


def _gone(case: Case, former: Former, _: Plan) -> Plan | None:
    return _left(case, former) if former.is_gone else None


def _retained(case: Case, former: Former, _: Plan) -> Plan | None:
    """Leave what was not to go with the object; and what it would have been, as nobody has seen to that in time."""
    if case.deletes and case.has_finalizer:
        return None
    return _left(case, former, f"stays there, and nobody looks after it any more{_doubt(former)}.")


def _not_ours(case: Case, former: Former, _: Plan) -> Plan | None:
    if former.holder:
        return _left(case, former, f"stays there: {former.holder}, which comes first, declares it, too.")
    if former.heir:
        return _left(case, former, f"stays there: {former.heir} declares it, too, and has it now.")
    return None


def _not_yet(_: Case, __: Former, arriving: Plan) -> Plan | None:
    """Give nothing up before the new place can be had."""
    ready = next(verdict for verdict in arriving.verdicts if verdict.type is ConditionType.READY)
    if ready.status == TRUE or arriving.next is Next.AT_ONCE:
        return None
    return replace(arriving, finalizer=Finalizer.AS_IS)


def _unanswered(case: Case, former: Former, _: Plan) -> Plan | None:
    if not isinstance(former.observed, Unknown):
        return None
    why = f"The former is to go first, and cannot be asked: {former.observed.message}"
    return replace(_waiting(former, f"{why} {_ways_out(case, former)}"), next=Next.AFTER_BACKOFF)


def _permitted(case: Case, former: Former, _: Plan) -> Plan | None:
    if not case.may_recreate:
        return None
    losses = _losses(former)
    message = f"Deleted the {former.was}, as the annotation {RECREATE_ANNOTATION} allows. {losses}"
    return replace(
        _left(case, former),
        action=Delete(),
        losses=(losses,),
        notes=(Note(Reason.DELETED, message, is_warning=True),),
    )


def _refused(case: Case, former: Former, _: Plan) -> Plan:
    why = "With deletion: Delete the former does not stay behind, and nobody has said that it may be lost."
    return _waiting(former, f"{why} {_losses(former)} {_ways_out(case, former)}")


_QUESTIONS: tuple[Callable[[Case, Former, Plan], Plan | None], ...] = (
    _gone,
    _retained,
    _not_ours,
    _not_yet,
    _unanswered,
    _permitted,
    _refused,
)
"""Asked in this order; the first that has an answer decides."""


def _left(case: Case, former: Former, what_of_it: str = "") -> Plan:
    """Leave the old place; the next look is at the new one alone."""
    message = f"Until now it was the {former.was}; from now on it is the {former.becomes}."
    told = f"{message} The former {what_of_it}"
    return Plan(
        finalizer=Finalizer.REMOVE if case.has_finalizer else Finalizer.AS_IS,
        leaves=True,
        verdicts=out_of_sync(Reason.MOVED, message),
        notes=(Note(Reason.MOVED, told, is_warning=True),) if what_of_it else (),
        next=Next.AT_ONCE,
    )


def _waiting(former: Former, why: str) -> Plan:
    message = f"It is still the {former.was}, and is declared to be the {former.becomes}. {why}"
    return Plan(verdicts=out_of_sync(Reason.MOVED, message), notes=(Note(Reason.MOVED, message, is_warning=True),))


def _ways_out(case: Case, former: Former) -> str:
    ways = ["Set back what was changed", "let the former stay, by management.deletion: Retain"]
    if not isinstance(former.observed, Unknown):
        generation = case.declared.generation + (1 if case.was_in_sync else 0)
        change = "a change of this spec and " if case.was_in_sync else ""
        ways.append(f'have it deleted, by {change}the annotation {RECREATE_ANNOTATION}: "{generation}"')
    return f"{'; or '.join(ways)}."


def _losses(former: Former) -> str:
    return losses_of_all(former.was, former.observed) if isinstance(former.observed, Present) else ""


def _doubt(former: Former) -> str:
    """Say so where it is not known whether the old place is another at all."""
    return f", if it is another: {former.observed.message}" if isinstance(former.observed, Unknown) else ""
