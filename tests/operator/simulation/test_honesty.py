"""The simulation detects wrong plans: each of these has one mistake, which is found within a few seeds."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps

import pytest

from penstock_operator.plan.case import Case
from penstock_operator.plan.decision import Create, Delete, Finalizer, Plan, Update
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.reconcile import plan
from penstock_operator.plan.surroundings import Missing, Present, Surroundings
from penstock_operator.plan.verdicts import TRUE
from tests.operator.simulation.run import Decide, run

SEEDS = range(150)
MUTANTS: list[Decide] = []


def decides_wrongly(change: Callable[[Plan, Declared, Surroundings], Plan]) -> None:
    """Add a mutant that changes the right plan."""

    @wraps(change)
    def decide(declared: Declared, around: Surroundings) -> Plan:
        return change(plan(declared, around), declared, around)

    MUTANTS.append(decide)


def sees_wrongly(change: Callable[[Declared, Surroundings], Surroundings]) -> None:
    """Add a mutant that makes the right plan for surroundings that are wrong."""

    @wraps(change)
    def decide(declared: Declared, around: Surroundings) -> Plan:
        return plan(declared, change(declared, around))

    MUTANTS.append(decide)


@decides_wrongly
def without_finalizer(decided: Plan, _declared: Declared, _around: Surroundings) -> Plan:
    return replace(decided, finalizer=Finalizer.AS_IS) if decided.finalizer is Finalizer.ADD_FIRST else decided


@decides_wrongly
def finalizer_never_removed(decided: Plan, _declared: Declared, _around: Surroundings) -> Plan:
    return replace(decided, finalizer=Finalizer.AS_IS) if decided.finalizer is Finalizer.REMOVE else decided


@decides_wrongly
def finalizer_removed_without_deleting(decided: Plan, _declared: Declared, _around: Surroundings) -> Plan:
    return replace(decided, action=None) if isinstance(decided.action, Delete) else decided


@decides_wrongly
def deletes_what_is_retained(decided: Plan, _declared: Declared, around: Surroundings) -> Plan:
    retained = Reason.RETAINED in [note.reason for note in decided.notes]
    there = isinstance(around.observed, Present) and around.obstacle is None
    return replace(decided, action=Delete()) if retained and there else decided


@sees_wrongly
def blind_to_holder(declared: Declared, around: Surroundings) -> Surroundings:
    return around if declared.deleting else replace(around, holder=None)


@sees_wrongly
def blind_to_heir(_declared: Declared, around: Surroundings) -> Surroundings:
    """Delete what another object declares, too."""
    return replace(around, heir=None)


@decides_wrongly
def updates_what_is_in_sync(decided: Plan, declared: Declared, around: Surroundings) -> Plan:
    is_ready = bool(decided.verdicts) and decided.verdicts[0].status == TRUE
    if decided.action or declared.deleting or not isinstance(around.observed, Present) or not is_ready:
        return decided
    return replace(decided, action=Update(Case.of(declared, around).desired))


@decides_wrongly
def always_ready(decided: Plan, _declared: Declared, _around: Surroundings) -> Plan:
    return replace(decided, verdicts=tuple(replace(each, status=TRUE) for each in decided.verdicts))


@decides_wrongly
def never_the_same_message(decided: Plan, declared: Declared, _around: Surroundings) -> Plan:
    message = f"{declared.resource_version} {decided.verdicts[0].message}" if decided.verdicts else ""
    return replace(decided, verdicts=tuple(replace(each, message=message) for each in decided.verdicts))


@decides_wrongly
def does_not_recreate(decided: Plan, _declared: Declared, around: Surroundings) -> Plan:
    lost = isinstance(decided.action, Create) and isinstance(around.observed, Missing)
    return replace(decided, action=None) if lost else decided


@decides_wrongly
def leaves_without_an_event(decided: Plan, _declared: Declared, _around: Surroundings) -> Plan:
    return replace(decided, notes=()) if decided.leaves else decided


@decides_wrongly
def moves_without_permission(decided: Plan, declared: Declared, around: Surroundings) -> Plan:
    """Delete what is left behind, as if a changed reference asked for that."""
    kept = around.former and not decided.leaves and Case.of(declared, around).deletes
    return replace(decided, action=Delete(), leaves=True, finalizer=Finalizer.REMOVE) if kept else decided


@sees_wrongly
def blind_to_former_location(_declared: Declared, around: Surroundings) -> Surroundings:
    return replace(around, former=None)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_simulation_detects_a_wrong_plan(mutant: Decide) -> None:
    assert any(run(seed, mutant).violation for seed in SEEDS)
