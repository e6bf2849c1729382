"""What is done about a Stream or Consumer, situation by situation: action, finalizer, conditions and events."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_jetstream.config import Facts
from penstock_operator.plan.alteration import DELETION_SECONDS
from penstock_operator.plan.decision import (
    Action,
    ConditionType,
    Create,
    Delete,
    Failure,
    Finalizer,
    Next,
    Pause,
    Plan,
    Recreate,
    Update,
    Verdict,
)
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.reconcile import plan, plan_after
from penstock_operator.plan.retry import FIRST_SECONDS, LONGEST_SECONDS, delay_seconds
from penstock_operator.plan.surroundings import Missing, Surroundings, Unknown, Waiting
from penstock_operator.resources.management import ABANDON_ANNOTATION, PAUSE_ANNOTATION, PAUSED, RECREATE_ANNOTATION
from tests.operator.plan.builders import OLDER, YOUNGER, consumer, declared, present, stream, wanted

DELETE = {"deletion": "Delete"}
REPORT = {"drift": "Report"}
OBSERVE = {"policy": "Observe"}
RECREATE = {"immutableChange": "Recreate"}
GONE = Surroundings(observed=Missing())
JUST_GONE = Surroundings(observed=Missing(), missing_seconds=0.0)
LONG_GONE = Surroundings(observed=Missing(), missing_seconds=DELETION_SECONDS)
AWAY = Surroundings(observed=Unknown(Reason.UNREACHABLE, "No server answers."))
NO_CONNECTION = Surroundings(
    obstacle=Waiting(Reason.CONNECTION_NOT_FOUND, "There is no Connection shop/nats.", lost=True)
)
HELD = Surroundings(holder=OLDER)
ABANDONED = {ABANDON_ANNOTATION: "true"}
ON_HOLD = {PAUSE_ANNOTATION: PAUSED}
GENERATION_2 = {RECREATE_ANNOTATION: "2"}
NO_STREAM = Surroundings(observed=Unknown(Reason.STREAM_NOT_FOUND, "There is no stream ORDERS."))
UNTIL = "2036-01-31T12:00:00Z"
INVALID = declared("Stream", "orders", {}, finalizer=True)
ADD_FIRST, REMOVE = Finalizer.ADD_FIRST, Finalizer.REMOVE


def condition(decided: Plan, kind: ConditionType) -> Verdict:
    return next(verdict for verdict in decided.verdicts if verdict.type is kind)


def has(object_: Declared, facts: Mapping[str, object] | None = None, **changed: object) -> Surroundings:
    """Return surroundings where the server has what an object wants, but for what was changed."""
    return Surroundings(observed=present(object_, facts, **changed))


@dataclass(frozen=True)
class Case:
    declared: Declared
    around: Surroundings
    does: type[Action] | None = None
    told: Reason | None = None
    finalizer: Finalizer = Finalizer.AS_IS
    ready: str = "True"
    reason: Reason = Reason.IN_SYNC
    drifted: str | None = None


def unready(
    declared: Declared,
    around: Surroundings,
    reason: Reason,
    *,
    told: bool = True,
    drifted: str | None = None,
    finalizer: Finalizer = Finalizer.AS_IS,
) -> Case:
    """Expect no action, an object that is not ready for a reason, and an event that says so."""
    return Case(declared, around, None, reason if told else None, finalizer, "False", reason, drifted)


def changed(management: Mapping[str, str] | None = None, **about: Any) -> Declared:  # noqa: ANN401
    """Return a stream whose first generation was in sync, and which has a second one now."""
    return stream(management, generation=2, synced=1, **about)


ORDERS, DIFFERS, MEMORY = has(stream()), has(stream(), max_msgs=5), has(stream(), storage="memory")
SYNCED, REPORTING = stream(synced=1), stream(REPORT, synced=1)
CHANGED, ALLOWED = changed(), changed(RECREATE, annotations=GENERATION_2)
OWNED, TRIPLED, COUNTER = stream(DELETE), stream(spec={"replicas": 3}), stream(spec={"allowMessageCounter": True})
ALONE = Facts(clustered=False)
STANDING = {
    "missing: created": Case(stream(), GONE, Create, Reason.CREATED),
    "missing, to be deleted with its object: a finalizer comes first": Case(
        OWNED, GONE, Create, Reason.CREATED, ADD_FIRST
    ),
    "there as declared: adopted": Case(stream(), ORDERS, None, Reason.ADOPTED),
    "adopted, to be deleted with its object: a finalizer": Case(OWNED, ORDERS, None, Reason.ADOPTED, ADD_FIRST),
    "there and different: adopted and updated": Case(stream(), DIFFERS, Update, Reason.ADOPTED),
    "there and different: adopted and updated even if drift is only reported": Case(
        stream(REPORT), DIFFERS, Update, Reason.ADOPTED
    ),
    "in sync: nothing": Case(SYNCED, ORDERS),
    "a new generation: updated": Case(CHANGED, DIFFERS, Update, Reason.UPDATED),
    "a new generation: updated even if drift is only reported": Case(changed(REPORT), DIFFERS, Update, Reason.UPDATED),
    "a new generation that is equal on the server: nothing": Case(CHANGED, ORDERS),
    "drift: corrected and reported": Case(SYNCED, DIFFERS, Update, Reason.DRIFTED),
    "drift: only reported": unready(REPORTING, DIFFERS, Reason.DRIFTED, drifted="True"),
    "deleted on the server: created again and reported": Case(SYNCED, GONE, Create, Reason.RECREATED),
    "deleted on the server a moment ago: created again once that is over": unready(
        SYNCED, JUST_GONE, Reason.MISSING, told=False
    ),
    "deleted on the server a while ago: created again": Case(SYNCED, LONG_GONE, Create, Reason.RECREATED),
    "never there: created at once": Case(stream(), JUST_GONE, Create, Reason.CREATED),
    "a consumer deleted on the server: created again at once": Case(
        consumer(synced=1), JUST_GONE, Create, Reason.RECREATED
    ),
    "deleted on the server: only reported": unready(REPORTING, GONE, Reason.MISSING, drifted="True"),
    "observed, as declared": Case(stream(OBSERVE), ORDERS, reason=Reason.OBSERVED),
    "observed, different": unready(stream(OBSERVE), DIFFERS, Reason.DRIFTED, drifted="True"),
    "observed, missing": unready(stream(OBSERVE), GONE, Reason.MISSING, told=False, drifted="True"),
    "observed, an immutable field differs": unready(
        stream({**OBSERVE, **RECREATE}, annotations={RECREATE_ANNOTATION: "1"}), MEMORY, Reason.DRIFTED
    ),
    "observed: no finalizer, whatever its deletion says": Case(
        stream({**OBSERVE, **DELETE}), ORDERS, reason=Reason.OBSERVED
    ),
    "observed from now on: the finalizer is removed": Case(
        stream({**OBSERVE, **DELETE}, finalizer=True), ORDERS, None, None, REMOVE, reason=Reason.OBSERVED
    ),
    "retained from now on: the finalizer is removed": Case(stream(finalizer=True, synced=1), ORDERS, finalizer=REMOVE),
    "retained from now on: the finalizer is removed even if the server is away": unready(
        stream(finalizer=True, synced=1), AWAY, Reason.UNREACHABLE, told=False, finalizer=REMOVE
    ),
    "an immutable field has changed": unready(CHANGED, MEMORY, Reason.IMMUTABLE),
    "never ours: no finalizer, so that it is never deleted": unready(OWNED, MEMORY, Reason.IMMUTABLE),
    "an immutable field has changed, without the annotation": unready(changed(RECREATE), MEMORY, Reason.IMMUTABLE),
    "an immutable field has changed, with the annotation": Case(ALLOWED, MEMORY, Recreate, Reason.RECREATED),
    "the annotation names another generation": unready(
        stream(RECREATE, generation=3, synced=1, annotations=GENERATION_2), MEMORY, Reason.IMMUTABLE
    ),
    "the annotation, but the policy rejects": unready(changed(annotations=GENERATION_2), MEMORY, Reason.IMMUTABLE),
    "the annotation allows one recreation": unready(
        stream(RECREATE, generation=2, synced=2, annotations=GENERATION_2), MEMORY, Reason.IMMUTABLE, drifted="True"
    ),
    "an older object declares the same": unready(stream(), HELD, Reason.CONFLICT),
    "an older object declares the same: the finalizer is removed": unready(
        stream(DELETE, finalizer=True, synced=1), HELD, Reason.CONFLICT, finalizer=REMOVE
    ),
    "observed: no conflict": Case(stream(OBSERVE), replace(ORDERS, holder=OLDER), reason=Reason.OBSERVED),
    "its Connection is missing": unready(stream(), NO_CONNECTION, Reason.CONNECTION_NOT_FOUND, told=False),
    "the server is away": unready(SYNCED, AWAY, Reason.UNREACHABLE, told=False),
    "paused": Case(stream(annotations=ON_HOLD), GONE, ready="Unknown", reason=Reason.PAUSED),
    "paused: the finalizer stays": Case(
        stream(DELETE, finalizer=True, annotations=ON_HOLD), GONE, ready="Unknown", reason=Reason.PAUSED
    ),
    "an invalid spec": unready(INVALID, GONE, Reason.INVALID, told=False),
    "a contradictory spec": unready(stream(spec={"subjects": ["a.>", "a.b"]}), GONE, Reason.INVALID, told=False),
    "the server cannot do it": unready(TRIPLED, Surroundings(facts=ALONE), Reason.REFUSED),
    "the server cannot do it, and has it": Case(TRIPLED, replace(has(TRIPLED), facts=ALONE), None, Reason.ADOPTED),
    "the server lacks an API level": unready(COUNTER, Surroundings(facts=Facts(api_level=0)), Reason.LEVEL_TOO_LOW),
    "a consumer that servers make for themselves": unready(
        consumer(spec={"name": "JS_MIRROR_x"}), GONE, Reason.MADE_BY_SERVER, told=False
    ),
    "a pause that is not declared: lifted": Case(
        consumer(synced=1), has(consumer(), pause_until=UNTIL), Pause, Reason.DRIFTED
    ),
    "a consumer's stream is missing on the server": unready(consumer(), NO_STREAM, Reason.STREAM_NOT_FOUND, told=False),
}


@pytest.mark.interpreter
def test_declared_object_in_each_situation(subtests: pytest.Subtests) -> None:
    for name, case in STANDING.items():
        with subtests.test(name):
            decided = plan(case.declared, case.around)
            assert (decided.action and type(decided.action)) == case.does
            assert decided.finalizer is case.finalizer
            verdict = condition(decided, ConditionType.READY)
            assert (verdict.status, verdict.reason) == (case.ready, case.reason)
            assert [note.reason for note in decided.notes] == ([case.told] if case.told else [])
            if case.drifted:
                assert condition(decided, ConditionType.DRIFTED).status == case.drifted


@dataclass(frozen=True)
class End:
    """What happens to an object that is being deleted: it goes with an event, or it stays."""

    declared: Declared
    around: Surroundings
    goes: Reason | None = None
    deletes: bool = False


def ending(management: dict[str, str], annotations: dict[str, str] | None = None) -> Declared:
    return stream(management, deleting=True, finalizer=True, annotations=annotations, synced=1)


ENDS = {
    "deletes, then goes": End(ending(DELETE), ORDERS, Reason.DELETED, deletes=True),
    "goes, as the stream is gone": End(ending(DELETE), GONE, Reason.DELETED),
    "goes by itself without a finalizer of ours": End(stream(DELETE, deleting=True), ORDERS),
    "goes and retains": End(ending({}), ORDERS, Reason.RETAINED),
    "goes and retains although the server is away": End(ending({}), AWAY, Reason.RETAINED),
    "goes and retains although its Connection is gone": End(ending({}), NO_CONNECTION, Reason.RETAINED),
    "stays while the server is away": End(ending(DELETE), AWAY),
    "stays without a Connection": End(ending(DELETE), NO_CONNECTION),
    "abandoned while the server is away": End(ending(DELETE, ABANDONED), AWAY, Reason.ABANDONED),
    "abandoned without a Connection": End(ending(DELETE, ABANDONED), NO_CONNECTION, Reason.ABANDONED),
    "abandoned while paused": End(ending(DELETE, {**ON_HOLD, **ABANDONED}), ORDERS, Reason.ABANDONED),
    "stays while paused": End(ending(DELETE, ON_HOLD), ORDERS),
    "goes and retains while paused": End(ending({}, ON_HOLD), ORDERS, Reason.RETAINED),
    "leaves what an older object declares": End(ending(DELETE), HELD, Reason.RETAINED),
    "leaves what a younger object declares": End(ending(DELETE), replace(ORDERS, heir=YOUNGER), Reason.RETAINED),
    "leaves what a younger object declares while the server is away": End(
        ending(DELETE), replace(AWAY, heir=YOUNGER), Reason.RETAINED
    ),
    "goes if it only observed": End(ending({**DELETE, **OBSERVE}), ORDERS, Reason.RETAINED),
    "stays while its spec is invalid": End(replace(INVALID, deleting=True), ORDERS),
    "abandoned with an invalid spec": End(
        replace(INVALID, deleting=True, annotations=ABANDONED), ORDERS, Reason.ABANDONED
    ),
    "a consumer goes with its stream": End(consumer(DELETE, deleting=True, finalizer=True), NO_STREAM, Reason.DELETED),
}


def test_object_that_is_being_deleted_in_each_situation(subtests: pytest.Subtests) -> None:
    for name, end in ENDS.items():
        with subtests.test(name):
            decided = plan(end.declared, end.around)
            assert isinstance(decided.action, Delete) is end.deletes
            assert (decided.finalizer is Finalizer.REMOVE) is bool(end.goes)
            assert [note.reason for note in decided.notes] == ([end.goes] if end.goes else [])
            if end.declared.finalizers and not end.goes:
                assert ABANDON_ANNOTATION in ready(decided)


def ready(decided: Plan) -> str:
    return condition(decided, ConditionType.READY).message


def test_messages_use_the_words_of_the_manifest_and_name_the_way_out() -> None:
    decided = plan(REPORTING, has(stream(), max_age=60 * 10**9))
    assert "maxAge: 1m is to be not set." in ready(decided)
    assert f'{RECREATE_ANNOTATION}: "2"' in ready(plan(changed(RECREATE), MEMORY))
    assert "immutableChange" in ready(plan(CHANGED, MEMORY))
    assert "needs JetStream API level 2 (nats-server 2.12)" in ready(
        plan(COUNTER, Surroundings(facts=Facts(api_level=0)))
    )


def test_pause_is_part_of_a_creation_and_a_second_step_after_an_update() -> None:
    paused = {"pauseUntil": UNTIL}
    created = plan(consumer(spec=paused), GONE).action
    assert isinstance(created, Create)
    assert created.config["pause_until"] == UNTIL
    assert plan(consumer(spec=paused, generation=2, synced=1), has(consumer())).action == Pause(UNTIL)
    decided = plan(consumer(synced=1), has(consumer(), pause_until=UNTIL, max_deliver=3))
    assert isinstance(decided.action, Update)
    assert decided.next is Next.AT_ONCE
    assert condition(decided, ConditionType.SYNCED).status == "False"
    over = has(consumer(), facts={"paused": False}, pause_until="2020-01-31T12:00:00Z")
    assert plan(consumer(synced=1), over).action is None


def test_update_sends_the_whole_configuration_and_reports_what_a_lower_limit_loses() -> None:
    assert plan(SYNCED, DIFFERS).action == Update(wanted(stream()))
    lower = changed(spec={"maxBytes": "1Mi"})
    decided = plan(lower, has(stream(), facts={"bytes": 2**21}))
    assert isinstance(decided.action, Update)
    assert "maxBytes" in decided.losses[0]
    assert plan(lower, has(stream(), facts={"bytes": 5})).losses == ()


def test_retention_change_that_would_empty_a_stream_without_consumers_needs_the_annotation() -> None:
    by_interest = changed(spec={"retention": "Interest"})
    unread = has(stream(), facts={"messages": 7, "consumers": 0}, retention="limits")
    decided = plan(by_interest, unread)
    assert decided.action is None
    assert "loses 7 messages" in ready(decided)
    assert f'{RECREATE_ANNOTATION}: "2"' in ready(decided)
    assert isinstance(plan(replace(by_interest, annotations=GENERATION_2), unread).action, Update)
    for facts in ({"messages": 7, "consumers": 1}, {"messages": 0, "consumers": 0}):
        assert isinstance(plan(by_interest, has(stream(), facts=facts, retention="limits")).action, Update)


def test_delays_between_attempts_double_up_to_five_minutes() -> None:
    assert [delay_seconds(failures, 0) for failures in range(1, 12)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


@given(st.integers(0, 10**9), st.floats(0, 1))
def test_jitter_spreads_delays_within_their_limits(failures: int, chance: float) -> None:
    assert FIRST_SECONDS / 2 <= delay_seconds(failures, chance) <= LONGEST_SECONDS
    assert delay_seconds(failures, 1) == delay_seconds(failures, 0) / 2


def test_failed_action_is_retried_and_the_status_says_whether_the_server_is_reachable_and_in_sync() -> None:
    lost = plan_after(plan(stream(), GONE), Failure(Reason.UNREACHABLE, "No answer.", passing=True))
    assert condition(lost, ConditionType.SYNCED).status == "Unknown"
    assert condition(lost, ConditionType.REACHABLE).status == "False"
    for passing in (True, False):
        refused = plan_after(plan(stream(), GONE), Failure(Reason.REFUSED, "There is no room.", passing=passing))
        assert (refused.action, refused.next) == (None, Next.AFTER_BACKOFF)
        assert condition(refused, ConditionType.READY).reason is Reason.REFUSED
        assert condition(refused, ConditionType.SYNCED).status == "False"
        assert condition(refused, ConditionType.REACHABLE).status == "True"
    assert condition(plan(consumer(), NO_STREAM), ConditionType.REACHABLE).status == "True"
    drifted = plan_after(plan(SYNCED, DIFFERS), Failure(Reason.REFUSED, "No.", passing=False))
    assert condition(drifted, ConditionType.DRIFTED).status == "True"


def test_failed_deletion_says_how_the_object_can_go_without_it() -> None:
    after = plan_after(plan(ending(DELETE), ORDERS), Failure(Reason.REFUSED, "It is sealed.", passing=False))
    assert ABANDON_ANNOTATION in ready(after)
    assert after.finalizer is Finalizer.AS_IS


def test_surprising_setting_is_a_warning_and_the_object_stays_ready() -> None:
    short_lived = stream(spec={"storage": "Memory"}, synced=1)
    decided = plan(short_lived, Surroundings(observed=present(short_lived), warnings=("Too narrow.",)))
    assert condition(decided, ConditionType.READY).status == "True"
    warning = condition(decided, ConditionType.WARNING).message
    assert warning.startswith("storage: ")
    assert warning.endswith("Too narrow.")
