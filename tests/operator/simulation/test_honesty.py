"""The simulation notices what is wrong: plans with one mistake each are found out within a few seeds."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from penstock_operator.plan.case import Case
from penstock_operator.plan.decision import Create, Delete, Finalizer, Plan, Update, Verdict
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.reconcile import plan
from penstock_operator.plan.surroundings import Missing, Present, Surroundings
from penstock_operator.plan.verdicts import TRUE
from tests.operator.simulation.run import Decide, run

SEEDS = range(150)


def without_finalizer(declared: Declared, around: Surroundings) -> Plan:
    decided = plan(declared, around)
    late = decided.finalizer is Finalizer.ADD_FIRST
    return replace(decided, finalizer=Finalizer.AS_IS) if late else decided


def never_letting_go(declared: Declared, around: Surroundings) -> Plan:
    decided = plan(declared, around)
    kept = decided.finalizer is Finalizer.REMOVE
    return replace(decided, finalizer=Finalizer.AS_IS) if kept else decided


def letting_go_too_soon(declared: Declared, around: Surroundings) -> Plan:
    decided = plan(declared, around)
    return replace(decided, action=None) if isinstance(decided.action, Delete) else decided


def deleting_what_shall_stay(declared: Declared, around: Surroundings) -> Plan:
    decided = plan(declared, around)
    retained = Reason.RETAINED in [note.reason for note in decided.notes]
    there = isinstance(around.observed, Present) and around.obstacle is None
    return replace(decided, action=Delete()) if retained and there else decided


def blind_to_others(declared: Declared, around: Surroundings) -> Plan:
    return plan(declared, replace(around, holder=None)) if not declared.deleting else plan(declared, around)


def blind_to_heirs(declared: Declared, around: Surroundings) -> Plan:
    """Delete what another object declares, too."""
    return plan(declared, replace(around, heir=None))


def busy(declared: Declared, around: Surroundings) -> Plan:
    decided = plan(declared, around)
    if decided.action or declared.deleting or not isinstance(around.observed, Present) or not _is_ready(decided):
        return decided
    return replace(decided, action=Update(Case.of(declared, around).desired))


def boastful(declared: Declared, around: Surroundings) -> Plan:
    decided = plan(declared, around)
    return replace(decided, verdicts=tuple(replace(each, status=TRUE) for each in decided.verdicts))


def restless(declared: Declared, around: Surroundings) -> Plan:
    """Say something new about what is gone each time."""
    decided = plan(declared, around)
    said = f"{declared.resource_version} {decided.verdicts[0].message}" if decided.verdicts else ""
    return replace(decided, verdicts=tuple(_saying(each, said) for each in decided.verdicts))


def forgetful(declared: Declared, around: Surroundings) -> Plan:
    """Leave alone what went missing."""
    decided = plan(declared, around)
    lost = isinstance(decided.action, Create) and isinstance(around.observed, Missing)
    return replace(decided, action=None) if lost else decided


def leaving_without_a_word(declared: Declared, around: Surroundings) -> Plan:
    decided = plan(declared, around)
    return replace(decided, notes=()) if decided.leaves else decided


def moving_at_any_price(declared: Declared, around: Surroundings) -> Plan:
    """Delete what is left behind, as if a changed reference asked for that."""
    decided = plan(declared, around)
    kept = around.former and not decided.leaves and Case.of(declared, around).deletes
    return replace(decided, action=Delete(), leaves=True, finalizer=Finalizer.REMOVE) if kept else decided


def blind_to_where_it_was(declared: Declared, around: Surroundings) -> Plan:
    return plan(declared, replace(around, former=None))


def _is_ready(decided: Plan) -> bool:
    return bool(decided.verdicts) and decided.verdicts[0].status == TRUE


def _saying(verdict: Verdict, message: str) -> Verdict:
    return replace(verdict, message=message)


MUTANTS: list[Callable[[Declared, Surroundings], Plan]] = [
    without_finalizer,
    never_letting_go,
    letting_go_too_soon,
    deleting_what_shall_stay,
    blind_to_others,
    blind_to_heirs,
    busy,
    boastful,
    restless,
    forgetful,
    leaving_without_a_word,
    moving_at_any_price,
    blind_to_where_it_was,
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_plan_that_is_wrong_is_found_out(mutant: Decide) -> None:
    assert any(run(seed, mutant).violation for seed in SEEDS)
