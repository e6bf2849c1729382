"""The status and finalizer of a Connection for each state of its link."""

from dataclasses import replace

import pytest

from penstock_operator.plan.connections import Connected, Connecting, Failing, LinkState, plan_connection
from penstock_operator.plan.decision import ConditionType, Finalizer
from penstock_operator.plan.reasons import Reason
from penstock_operator.resources.management import ABANDON_ANNOTATION
from tests.operator.plan.builders import connection, stream

MISSING = Failing(Reason.SECRET_NOT_FOUND, "It is missing.")
STATES: dict[str, tuple[LinkState, str, str, Reason]] = {
    "the first attempt": (Connecting(), "Unknown", "Unknown", Reason.CONNECTING),
    "connected": (Connected("a"), "True", "True", Reason.CONNECTED),
    "refused": (Failing(Reason.UNAUTHORIZED, "The user is not known."), "False", "False", Reason.UNAUTHORIZED),
    "without JetStream": (Failing(Reason.NO_JETSTREAM, "It is off."), "False", "False", Reason.NO_JETSTREAM),
    "without its Secret": (MISSING, "False", "False", Reason.SECRET_NOT_FOUND),
}
NEEDING = {
    1: "as Stream shop/s0 has something",
    2: "as Stream shop/s0 and Stream shop/s1 have something",
    5: "as Stream shop/s0, Stream shop/s1, Stream shop/s2 and 2 more have something",
}


def test_conditions_follow_the_spec_and_the_link_which_may_warn_or_stay_open_only_for_deletions(
    subtests: pytest.Subtests,
) -> None:
    for name, (state, ready, reachable, reason) in STATES.items():
        with subtests.test(name):
            decided = plan_connection(connection(), state)
            found = {verdict.type: (verdict.status, verdict.reason) for verdict in decided.verdicts}
            assert found == {ConditionType.READY: (ready, reason), ConditionType.REACHABLE: (reachable, reason)}
            assert decided.action is None
    decided = plan_connection(connection(), replace(MISSING, still_in="a"))
    assert {verdict.status for verdict in decided.verdicts} == {"False"}
    assert decided.verdicts[0].message == (
        "It is missing. What is to be deleted on the server still is, over the link that is open."
    )
    decided = plan_connection(connection(), Connected("a", warnings=("It may not read advisories.",)))
    assert [verdict.status for verdict in decided.verdicts] == ["True", "True", "True"]
    assert decided.verdicts[-1].type is ConditionType.WARNING
    invalid = plan_connection(connection({"servers": []}), Connecting()).verdicts[0]
    assert invalid.reason is Reason.INVALID
    assert "spec.servers" in invalid.message


def test_connection_keeps_its_finalizer_while_an_object_has_something_to_delete_through_it() -> None:
    to_delete = stream({"deletion": "Delete"}, finalizer=True)
    up = Connected("a")
    assert plan_connection(connection(), up, [stream()]).finalizer is Finalizer.AS_IS
    assert plan_connection(connection(), up, [to_delete]).finalizer is Finalizer.ADD_FIRST
    assert plan_connection(connection(finalizer=True), up, []).finalizer is Finalizer.REMOVE
    leaving = connection(deleting=True, finalizer=True)
    assert plan_connection(leaving, up, [to_delete]).finalizer is Finalizer.AS_IS
    assert plan_connection(leaving, up, [stream()]).finalizer is Finalizer.REMOVE
    assert plan_connection(connection(deleting=True), up).verdicts == ()


def test_connection_that_stays_names_the_objects_that_need_it_and_the_ways_out(subtests: pytest.Subtests) -> None:
    for number, said in NEEDING.items():
        with subtests.test(said):
            needing = [stream({"deletion": "Delete"}, name=f"s{each}", finalizer=True) for each in range(number)]
            [verdict, _] = plan_connection(connection(deleting=True, finalizer=True), Connected("a"), needing).verdicts
            assert verdict.reason is Reason.DELETING
            for words in (said, "deletion: Retain", f'{ABANDON_ANNOTATION}: "true"'):
                assert words in verdict.message


def test_abandoned_connection_goes_although_it_is_needed() -> None:
    to_delete, abandoned = stream({"deletion": "Delete"}, finalizer=True), {ABANDON_ANNOTATION: "true"}
    leaving = connection(deleting=True, finalizer=True, annotations=abandoned)
    decided = plan_connection(leaving, Failing(Reason.UNREACHABLE, "No server answers."), [to_delete])
    assert decided.finalizer is Finalizer.REMOVE
    assert [(note.reason, note.is_warning) for note in decided.notes] == [(Reason.ABANDONED, True)]
    living = connection(annotations=abandoned)
    assert plan_connection(living, Connected("a"), [to_delete]).finalizer is Finalizer.ADD_FIRST
