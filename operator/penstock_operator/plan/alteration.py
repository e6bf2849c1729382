"""From what is declared and what is on the server to the action that makes the one like the other, if there may be one.

Pure. Knows policies, drift, adoption, what cannot be changed, and what would be lost. Decides for objects that nothing
else stands in the way of (reconcile.py sees to that).
"""

from dataclasses import replace

from penstock_jetstream.config import Difference, Impossible, Unchanged, Update, plan_update
from penstock_operator.plan import decision
from penstock_operator.plan.case import Case
from penstock_operator.plan.decision import Next, Note, Pause, Plan, Recreate
from penstock_operator.plan.losses import loses_everything, losses_of_all, losses_of_update
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Present
from penstock_operator.plan.verdicts import Verdicts, in_sync, out_of_sync
from penstock_operator.plan.wording import differences_told, problems_told
from penstock_operator.resources.management import RECREATE_ANNOTATION, Drift, ImmutableChange

PAUSE_FIELD = "pause_until"
DELETION_SECONDS = 2.0
"""How long a stream must have been missing before it is made again.

A server forgets the name of a stream first and deletes its files last (nats-server, stream.stop): in between it makes
a stream of that name over the files of the old one, and then takes them away. Such a stream stores nothing."""


def plan_creation(case: Case) -> Plan:
    """Decide about something that is not on the server."""
    if case.observes:
        message = f"There is no {case.it} on the server. Penstock observes only, and does not make it."
        return Plan(verdicts=out_of_sync(Reason.MISSING, message, drifted=True))
    if case.was_in_sync and case.management.drift is Drift.REPORT:
        message = f"The {case.it} is gone from the server. Penstock reports drift only, and does not make it again."
        note = Note(Reason.MISSING, message, is_warning=True)
        return Plan(verdicts=out_of_sync(Reason.MISSING, message, drifted=True), notes=(note,))
    return (
        _refusal(case)
        or _too_soon(case)
        or Plan(action=decision.Create(case.desired), verdicts=_as_declared(case), notes=(_made(case),))
    )


def _too_soon(case: Case) -> Plan | None:
    missing_seconds = case.around.missing_seconds
    if case.kind != "Stream" or not case.synced_generation:
        return None
    if missing_seconds is None or missing_seconds >= DELETION_SECONDS:
        return None
    message = f"The {case.it} is gone from the server. It is made again as soon as the server has finished deleting it."
    return Plan(verdicts=out_of_sync(Reason.MISSING, message), next=Next.SOON)


def plan_change(case: Case, present: Present) -> Plan:
    """Decide about something that is on the server."""
    change = plan_update(case.table, case.desired, present.config, case.facts)
    pause = _pause(case, present)
    differences = (() if isinstance(change, Unchanged) else change.differences) + pause
    if not differences:
        return Plan(verdicts=_as_declared(case), notes=_adopted(case))
    if case.observes or (case.was_in_sync and case.management.drift is Drift.REPORT):
        return _reported(case, differences)
    if isinstance(change, Impossible):
        return _unchangeable(case, present, change)
    if loses_everything(case, present, differences) and not case.may_recreate:
        return _destructive(case, present, differences)
    return _refusal(case) or _changed(case, present, change, pause)


def _as_declared(case: Case) -> Verdicts:
    """Say so in the same words whether it was found so or made so: what was done is told by events."""
    reason = Reason.OBSERVED if case.observes else Reason.IN_SYNC
    return in_sync(f"The {case.it} is as declared.", reason)


def _made(case: Case) -> Note:
    if not case.synced_generation:
        return Note(Reason.CREATED, f"Made the {case.it}.")
    message = (
        f"The {case.it} was gone from the server, with all that it held, and is made again. "
        "Was it deleted by somebody else, or kept in memory by a server that was restarted?"
    )
    return Note(Reason.RECREATED, message, is_warning=True)


def _adopted(case: Case) -> tuple[Note, ...]:
    if case.observes or case.synced_generation:
        return ()
    return (Note(Reason.ADOPTED, f"The {case.it} was on the server already, just as declared."),)


def _pause(case: Case, present: Present) -> tuple[Difference, ...]:
    """Compare what the server has a request of its own for. A pause that has run out is none."""
    field = case.table.field(PAUSE_FIELD)
    if field is None:
        return ()
    desired, actual = case.desired.get(PAUSE_FIELD), present.config.get(PAUSE_FIELD)
    if field.type.canonical(desired) == field.type.canonical(actual):
        return ()
    if desired is None and present.facts.get("paused") is False:
        return ()
    return (Difference(field=PAUSE_FIELD, desired=desired, actual=actual),)


def _reported(case: Case, differences: tuple[Difference, ...]) -> Plan:
    why = "Penstock observes only" if case.observes else "management.drift is Report"
    message = f"The {case.it} is not as declared, and {why}. {differences_told(case.kind, differences)}"
    return Plan(
        differences=differences,
        verdicts=out_of_sync(Reason.DRIFTED, message, drifted=True),
        notes=(Note(Reason.DRIFTED, message, is_warning=True),),
    )


def _refusal(case: Case) -> Plan | None:
    """Judge what is to be sent by what is known of the servers, before they do."""
    without_level = case.errors(replace(case.facts, api_level=None))
    errors = without_level or case.errors(case.facts)
    if not errors:
        return None
    reason = Reason.REFUSED if without_level else Reason.LEVEL_TOO_LOW
    message = f"The server would not take the {case.it}. {problems_told(case.kind, errors)}"
    note = Note(reason, message, is_warning=True)
    return Plan(verdicts=out_of_sync(reason, message), notes=(note,))


def _unchangeable(case: Case, present: Present, change: Impossible) -> Plan:
    told = differences_told(case.kind, change.obstacles)
    if case.management.immutable_change is ImmutableChange.RECREATE and case.may_recreate:
        return _refusal(case) or _recreated(case, present, change, told)
    message = f"No update makes the {case.it} as declared. {told} {_way_out(case)}"
    return Plan(
        differences=change.differences,
        verdicts=out_of_sync(Reason.IMMUTABLE, message, drifted=case.was_in_sync),
        notes=(Note(Reason.IMMUTABLE, message, is_warning=True),),
    )


def _destructive(case: Case, present: Present, differences: tuple[Difference, ...]) -> Plan:
    message = (
        f"No consumer reads the {case.it}: this change would delete what it holds at once. "
        f"{differences_told(case.kind, differences)} {losses_of_all(case.it, present)} "
        f"Make a consumer first; or allow it by the annotation {_permission(case)}."
    )
    return Plan(
        differences=differences,
        verdicts=out_of_sync(Reason.REFUSED, message, drifted=case.was_in_sync),
        notes=(Note(Reason.REFUSED, message, is_warning=True),),
    )


def _permission(case: Case) -> str:
    return f'{RECREATE_ANNOTATION}: "{case.declared.generation}"'


def _recreated(case: Case, present: Present, change: Impossible, told: str) -> Plan:
    losses = losses_of_all(case.it, present)
    message = f"Deleted the {case.it} and made it anew, as the annotation {RECREATE_ANNOTATION} allows. {told} {losses}"
    return Plan(
        action=Recreate(case.desired),
        differences=change.differences,
        losses=(losses,),
        verdicts=_as_declared(case),
        notes=(Note(Reason.RECREATED, message, is_warning=True),),
    )


def _way_out(case: Case) -> str:
    if case.was_in_sync:
        return f"Somebody else made it anew: delete the {case.it} on the server, and Penstock makes it as declared."
    lost = f"deletes the {case.it} with all that it holds, and makes it anew"
    if case.management.immutable_change is ImmutableChange.RECREATE:
        return f"The annotation {_permission(case)} {lost}."
    return (
        "Declare what is there; or set management.immutableChange to Recreate, "
        f"and the annotation {RECREATE_ANNOTATION} to the generation which that makes: this {lost}."
    )


def _changed(case: Case, present: Present, change: Unchanged | Update, pause: tuple[Difference, ...]) -> Plan:
    """Plan the update, or the pause; where both are needed, the update first."""
    if isinstance(change, Unchanged):
        return Plan(
            action=Pause(case.desired.get(PAUSE_FIELD)),
            differences=pause,
            verdicts=_as_declared(case),
            notes=(_altered(case, pause),),
        )
    differences = change.differences
    return Plan(
        action=decision.Update(change.config),
        differences=differences,
        losses=losses_of_update(case, present, differences),
        verdicts=_half_done(case, pause) if pause else _as_declared(case),
        notes=(_altered(case, differences),),
        next=Next.AT_ONCE if pause else Next.AT_THE_PERIOD,
    )


def _half_done(case: Case, rest: tuple[Difference, ...]) -> Verdicts:
    return out_of_sync(Reason.UPDATED, f"The {case.it} is updated but for this: {differences_told(case.kind, rest)}")


def _altered(case: Case, differences: tuple[Difference, ...]) -> Note:
    told = differences_told(case.kind, differences)
    if case.was_in_sync:
        message = f"The {case.it} was changed on the server by somebody else, and is changed back. {told}"
        return Note(Reason.DRIFTED, message, is_warning=True)
    if not case.synced_generation:
        return Note(
            Reason.ADOPTED, f"The {case.it} was on the server already, and is changed to what is declared. {told}"
        )
    return Note(Reason.UPDATED, f"Updated the {case.it}. {told}")
