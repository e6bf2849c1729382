"""What is done about a Stream or Consumer, situation by situation: action, finalizer, and what people are told."""

from dataclasses import dataclass, replace

import pytest

from penstock_jetstream.config import Facts
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
from penstock_operator.plan.surroundings import Missing, Surroundings, Unknown, Waiting
from penstock_operator.resources.management import ABANDON_ANNOTATION, PAUSE_ANNOTATION, PAUSED, RECREATE_ANNOTATION
from tests.operator.plan.builders import OLDER, YOUNGER, consumer, declared, present, stream, wanted

DELETE = {"deletion": "Delete"}
REPORT = {"drift": "Report"}
OBSERVE = {"policy": "Observe"}
RECREATE = {"immutableChange": "Recreate"}
GONE = Surroundings(observed=Missing())
AWAY = Surroundings(observed=Unknown(Reason.UNREACHABLE, "No server answers."))
NO_CONNECTION = Surroundings(
    obstacle=Waiting(Reason.CONNECTION_NOT_FOUND, "There is no Connection shop/nats.", lost=True)
)
HELD = Surroundings(holder=OLDER)
ABANDONED = {ABANDON_ANNOTATION: "true"}
ON_HOLD = {PAUSE_ANNOTATION: PAUSED}


def condition(decided: Plan, kind: ConditionType) -> Verdict:
    return next(verdict for verdict in decided.verdicts if verdict.type is kind)


def has(object_: Declared, facts: dict[str, object] | None = None, **changed: object) -> Surroundings:
    """Return surroundings where the server has what an object wants, but for what was changed."""
    return Surroundings(observed=present(object_, facts, **changed))


@dataclass(frozen=True)
class Case:
    declared: Declared
    around: Surroundings
    does: type[Action] | None = None
    finalizer: Finalizer = Finalizer.AS_IS
    ready: str = "True"
    reason: Reason = Reason.IN_SYNC
    told: Reason | None = None
    drifted: str | None = None


STANDING = {
    "what is not there is made": Case(stream(), GONE, Create, told=Reason.CREATED),
    "before it is made, a finalizer is added to what shall be deleted with its object": Case(
        stream(DELETE), GONE, Create, Finalizer.ADD_FIRST, told=Reason.CREATED
    ),
    "what is there as declared is adopted": Case(stream(), has(stream()), told=Reason.ADOPTED),
    "what is adopted to be deleted gets a finalizer": Case(
        stream(DELETE), has(stream()), None, Finalizer.ADD_FIRST, told=Reason.ADOPTED
    ),
    "what is there and differs is adopted and changed": Case(
        stream(), has(stream(), max_msgs=5), Update, told=Reason.ADOPTED
    ),
    "what is there and differs is adopted and changed even if drift is only reported": Case(
        stream(REPORT), has(stream(), max_msgs=5), Update, told=Reason.ADOPTED
    ),
    "what is in sync is left alone, and nothing is told": Case(stream(synced=1), has(stream())),
    "a new generation changes the server": Case(
        stream(generation=2, synced=1), has(stream(), max_msgs=5), Update, told=Reason.UPDATED
    ),
    "a new generation changes the server even if drift is only reported": Case(
        stream(REPORT, generation=2, synced=1), has(stream(), max_msgs=5), Update, told=Reason.UPDATED
    ),
    "a new generation that changes nothing on the server sends nothing": Case(
        stream(generation=2, synced=1), has(stream())
    ),
    "drift is corrected, and told": Case(stream(synced=1), has(stream(), max_msgs=5), Update, told=Reason.DRIFTED),
    "drift is only reported": Case(
        stream(REPORT, synced=1),
        has(stream(), max_msgs=5),
        ready="False",
        reason=Reason.DRIFTED,
        told=Reason.DRIFTED,
        drifted="True",
    ),
    "what was deleted behind our back is made again, and told": Case(
        stream(synced=1), GONE, Create, told=Reason.RECREATED
    ),
    "what was deleted behind our back is only reported": Case(
        stream(REPORT, synced=1), GONE, ready="False", reason=Reason.MISSING, told=Reason.MISSING, drifted="True"
    ),
    "an observed object that is as declared": Case(stream(OBSERVE), has(stream()), reason=Reason.OBSERVED),
    "an observed object that differs": Case(
        stream(OBSERVE),
        has(stream(), max_msgs=5),
        ready="False",
        reason=Reason.DRIFTED,
        told=Reason.DRIFTED,
        drifted="True",
    ),
    "an observed object that is missing": Case(
        stream(OBSERVE), GONE, ready="False", reason=Reason.MISSING, drifted="True"
    ),
    "an observed object whose immutable field differs": Case(
        stream({**OBSERVE, **RECREATE}, annotations={RECREATE_ANNOTATION: "1"}),
        has(stream(), storage="memory"),
        ready="False",
        reason=Reason.DRIFTED,
        told=Reason.DRIFTED,
    ),
    "an observed object has no finalizer, whatever its deletion says": Case(
        stream({**OBSERVE, **DELETE}), has(stream()), reason=Reason.OBSERVED
    ),
    "observing takes a finalizer off": Case(
        stream({**OBSERVE, **DELETE}, finalizer=True), has(stream()), None, Finalizer.REMOVE, reason=Reason.OBSERVED
    ),
    "retaining takes a finalizer off": Case(stream(finalizer=True, synced=1), has(stream()), None, Finalizer.REMOVE),
    "retaining takes a finalizer off even if the server is away": Case(
        stream(finalizer=True, synced=1), AWAY, None, Finalizer.REMOVE, ready="False", reason=Reason.UNREACHABLE
    ),
    "an immutable field has changed": Case(
        stream(generation=2, synced=1),
        has(stream(), storage="memory"),
        ready="False",
        reason=Reason.IMMUTABLE,
        told=Reason.IMMUTABLE,
    ),
    "what was never ours gets no finalizer, so that it is never deleted": Case(
        stream(DELETE), has(stream(), storage="memory"), ready="False", reason=Reason.IMMUTABLE, told=Reason.IMMUTABLE
    ),
    "an immutable field has changed, and nobody has said that it may be made anew": Case(
        stream(RECREATE, generation=2, synced=1),
        has(stream(), storage="memory"),
        ready="False",
        reason=Reason.IMMUTABLE,
        told=Reason.IMMUTABLE,
    ),
    "an immutable field has changed, and it may be made anew": Case(
        stream(RECREATE, generation=2, synced=1, annotations={RECREATE_ANNOTATION: "2"}),
        has(stream(), storage="memory"),
        Recreate,
        told=Reason.RECREATED,
    ),
    "the annotation names another generation": Case(
        stream(RECREATE, generation=3, synced=1, annotations={RECREATE_ANNOTATION: "2"}),
        has(stream(), storage="memory"),
        ready="False",
        reason=Reason.IMMUTABLE,
        told=Reason.IMMUTABLE,
    ),
    "the annotation, but the policy rejects": Case(
        stream(generation=2, synced=1, annotations={RECREATE_ANNOTATION: "2"}),
        has(stream(), storage="memory"),
        ready="False",
        reason=Reason.IMMUTABLE,
        told=Reason.IMMUTABLE,
    ),
    "what the annotation allowed once it does not allow again": Case(
        stream(RECREATE, generation=2, synced=2, annotations={RECREATE_ANNOTATION: "2"}),
        has(stream(), storage="memory"),
        ready="False",
        reason=Reason.IMMUTABLE,
        told=Reason.IMMUTABLE,
        drifted="True",
    ),
    "an older object has the place": Case(stream(), HELD, ready="False", reason=Reason.CONFLICT, told=Reason.CONFLICT),
    "who has lost the place has no finalizer": Case(
        stream(DELETE, finalizer=True, synced=1),
        HELD,
        None,
        Finalizer.REMOVE,
        ready="False",
        reason=Reason.CONFLICT,
        told=Reason.CONFLICT,
    ),
    "who only observes is in nobody's way": Case(
        stream(OBSERVE), Surroundings(holder=OLDER, observed=present(stream())), reason=Reason.OBSERVED
    ),
    "its Connection is missing": Case(stream(), NO_CONNECTION, ready="False", reason=Reason.CONNECTION_NOT_FOUND),
    "the server is away": Case(stream(synced=1), AWAY, ready="False", reason=Reason.UNREACHABLE),
    "it is paused": Case(stream(annotations=ON_HOLD), GONE, ready="Unknown", reason=Reason.PAUSED),
    "it is paused, and keeps its finalizer": Case(
        stream(DELETE, finalizer=True, annotations=ON_HOLD), GONE, ready="Unknown", reason=Reason.PAUSED
    ),
    "its spec cannot be understood": Case(
        declared("Stream", "orders", {}, finalizer=True), GONE, ready="False", reason=Reason.INVALID
    ),
    "its spec is wrong by itself": Case(
        stream(spec={"subjects": ["a.>", "a.b"]}), GONE, ready="False", reason=Reason.INVALID
    ),
    "the server cannot do it": Case(
        stream(spec={"replicas": 3}),
        Surroundings(facts=Facts(clustered=False)),
        ready="False",
        reason=Reason.REFUSED,
        told=Reason.REFUSED,
    ),
    "servers make consumers for themselves": Case(
        consumer(spec={"name": "JS_MIRROR_x"}), GONE, ready="False", reason=Reason.MADE_BY_SERVER
    ),
    "a pause is lifted that nobody declares": Case(
        consumer(synced=1), has(consumer(), pause_until="2036-01-31T12:00:00Z"), Pause, told=Reason.DRIFTED
    ),
    "a consumer's stream is missing on the server": Case(
        consumer(),
        Surroundings(observed=Unknown(Reason.STREAM_NOT_FOUND, "There is no stream ORDERS.")),
        ready="False",
        reason=Reason.STREAM_NOT_FOUND,
    ),
}


@pytest.mark.parametrize("case", STANDING.values(), ids=STANDING)
def test_a_declared_object(case: Case) -> None:
    decided = plan(case.declared, case.around)
    assert (decided.action and type(decided.action)) == case.does
    assert decided.finalizer is case.finalizer
    ready = condition(decided, ConditionType.READY)
    assert (ready.status, ready.reason) == (case.ready, case.reason)
    assert [note.reason for note in decided.notes] == ([case.told] if case.told else [])
    if case.drifted:
        assert condition(decided, ConditionType.DRIFTED).status == case.drifted


@dataclass(frozen=True)
class End:
    declared: Declared
    around: Surroundings
    deletes: bool = False
    goes: bool = False
    told: Reason | None = None


def ending(management: dict[str, str], annotations: dict[str, str] | None = None) -> Declared:
    return stream(management, deleting=True, finalizer=True, annotations=annotations, synced=1)


ENDS = {
    "deletes, then goes": End(ending(DELETE), has(stream()), deletes=True, goes=True, told=Reason.DELETED),
    "goes, as what it declares is gone": End(ending(DELETE), GONE, goes=True, told=Reason.DELETED),
    "goes by itself if it has no finalizer of ours": End(stream(DELETE, deleting=True), has(stream())),
    "goes, and what it declares stays": End(ending({}), has(stream()), goes=True, told=Reason.RETAINED),
    "goes though the server is away, as nothing is to be done there": End(
        ending({}), AWAY, goes=True, told=Reason.RETAINED
    ),
    "goes though its Connection is gone, as nothing is to be done there": End(
        ending({}), NO_CONNECTION, goes=True, told=Reason.RETAINED
    ),
    "stays while the server is away": End(ending(DELETE), AWAY),
    "stays while there is no way to the server": End(ending(DELETE), NO_CONNECTION),
    "goes, as somebody says that it does not matter": End(
        ending(DELETE, ABANDONED), AWAY, goes=True, told=Reason.ABANDONED
    ),
    "goes though nothing is known of the server, as somebody says that it does not matter": End(
        ending(DELETE, ABANDONED), NO_CONNECTION, goes=True, told=Reason.ABANDONED
    ),
    "goes though it is paused, as somebody says that it does not matter": End(
        ending(DELETE, {**ON_HOLD, **ABANDONED}), has(stream()), goes=True, told=Reason.ABANDONED
    ),
    "stays while it is paused": End(ending(DELETE, ON_HOLD), has(stream())),
    "goes though it is paused, as nothing is to be done on the server": End(
        ending({}, ON_HOLD), has(stream()), goes=True, told=Reason.RETAINED
    ),
    "goes, and leaves what an older object declares": End(ending(DELETE), HELD, goes=True, told=Reason.RETAINED),
    "goes, and leaves what a younger object declares": End(
        ending(DELETE), Surroundings(heir=YOUNGER, observed=present(stream())), goes=True, told=Reason.RETAINED
    ),
    "goes though the server is away, as a younger object declares what is there": End(
        ending(DELETE), replace(AWAY, heir=YOUNGER), goes=True, told=Reason.RETAINED
    ),
    "goes if it only observed": End(ending({**DELETE, **OBSERVE}), has(stream()), goes=True, told=Reason.RETAINED),
    "stays while its spec cannot be understood": End(
        declared("Stream", "orders", {}, deleting=True, finalizer=True), has(stream())
    ),
    "goes with a spec that cannot be understood, as somebody says that it does not matter": End(
        declared("Stream", "orders", {}, deleting=True, finalizer=True, annotations=ABANDONED),
        has(stream()),
        goes=True,
        told=Reason.ABANDONED,
    ),
    "a consumer goes with its stream": End(
        consumer(DELETE, deleting=True, finalizer=True),
        Surroundings(observed=Unknown(Reason.STREAM_NOT_FOUND, "There is no stream ORDERS.")),
        goes=True,
        told=Reason.DELETED,
    ),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_an_object_that_is_being_deleted(end: End) -> None:
    decided = plan(end.declared, end.around)
    assert isinstance(decided.action, Delete) is end.deletes
    assert (decided.finalizer is Finalizer.REMOVE) is end.goes
    assert [note.reason for note in decided.notes] == ([end.told] if end.told else [])
    if end.declared.finalizers and not end.goes:
        assert ABANDON_ANNOTATION in condition(decided, ConditionType.READY).message


def ready(decided: Plan) -> str:
    return condition(decided, ConditionType.READY).message


def test_differences_are_told_in_the_words_of_the_manifest() -> None:
    decided = plan(stream(REPORT, synced=1), has(stream(), max_age=60 * 10**9))
    assert "maxAge: 1m is to be not set." in ready(decided)


def test_who_may_not_recreate_is_told_which_annotation_to_set() -> None:
    around = has(stream(), storage="memory")
    assert f'{RECREATE_ANNOTATION}: "2"' in ready(plan(stream(RECREATE, generation=2, synced=1), around))
    assert "immutableChange" in ready(plan(stream(generation=2, synced=1), around))


def test_a_level_that_the_servers_have_not_reached_is_named() -> None:
    counter = stream(spec={"allowMessageCounter": True})
    decided = plan(counter, Surroundings(facts=Facts(api_level=0)))
    assert condition(decided, ConditionType.READY).reason is Reason.LEVEL_TOO_LOW
    assert "needs JetStream API level 2 (nats-server 2.12)" in ready(decided)


def test_a_pause_that_is_declared_later_is_a_request_of_its_own() -> None:
    until = "2036-01-31T12:00:00Z"
    decided = plan(consumer(spec={"pauseUntil": until}, generation=2, synced=1), has(consumer()))
    assert decided.action == Pause(until)


def test_a_pause_that_is_declared_from_the_beginning_is_part_of_what_is_made() -> None:
    until = "2036-01-31T12:00:00Z"
    decided = plan(consumer(spec={"pauseUntil": until}), GONE)
    assert isinstance(decided.action, Create)
    assert decided.action.config["pause_until"] == until


def test_what_is_as_declared_needs_no_judgement_of_the_servers() -> None:
    tripled = stream(spec={"replicas": 3})
    assert plan(tripled, Surroundings(observed=present(tripled), facts=Facts(clustered=False))).action is None


def test_an_update_carries_the_whole_configuration() -> None:
    decided = plan(stream(synced=1), has(stream(), max_msgs=5))
    assert decided.action == Update(wanted(stream()))


def test_an_update_and_a_pause_are_two_steps() -> None:
    around = has(consumer(), pause_until="2036-01-31T12:00:00Z", max_deliver=3)
    decided = plan(consumer(synced=1), around)
    assert isinstance(decided.action, Update)
    assert decided.next is Next.AT_ONCE
    assert condition(decided, ConditionType.SYNCED).status == "False"


def test_a_pause_that_has_run_out_is_none() -> None:
    around = has(consumer(), facts={"paused": False}, pause_until="2020-01-31T12:00:00Z")
    assert plan(consumer(synced=1), around).action is None


def test_a_lower_limit_is_obeyed_and_the_loss_told() -> None:
    lower = stream(spec={"maxBytes": "1Mi"}, generation=2, synced=1)
    decided = plan(lower, has(stream(), facts={"bytes": 2**21}))
    assert isinstance(decided.action, Update)
    assert "maxBytes" in decided.losses[0]


def test_a_lower_limit_that_nothing_exceeds_loses_nothing() -> None:
    lower = stream(spec={"maxBytes": "1Mi"}, generation=2, synced=1)
    assert plan(lower, has(stream(), facts={"bytes": 5})).losses == ()


BY_INTEREST = {"retention": "Interest"}


def test_a_stream_that_nobody_reads_is_not_emptied_by_a_change_of_its_retention() -> None:
    unread = has(stream(), facts={"messages": 7, "consumers": 0}, retention="limits")
    decided = plan(stream(spec=BY_INTEREST, generation=2, synced=1), unread)
    assert decided.action is None
    assert "loses 7 messages" in ready(decided)
    assert f'{RECREATE_ANNOTATION}: "2"' in ready(decided)


@pytest.mark.parametrize("facts", [{"messages": 7, "consumers": 1}, {"messages": 0, "consumers": 0}])
def test_a_stream_that_is_read_or_empty_may_change_its_retention(facts: dict[str, object]) -> None:
    around = has(stream(), facts=facts, retention="limits")
    assert isinstance(plan(stream(spec=BY_INTEREST, generation=2, synced=1), around).action, Update)


def test_who_says_so_may_empty_a_stream_by_a_change_of_its_retention() -> None:
    unread = has(stream(), facts={"messages": 7, "consumers": 0}, retention="limits")
    allowed = stream(spec=BY_INTEREST, generation=2, synced=1, annotations={RECREATE_ANNOTATION: "2"})
    assert isinstance(plan(allowed, unread).action, Update)


def test_what_cannot_be_done_is_tried_again_later_and_again() -> None:
    decided = plan(stream(), GONE)
    after = plan_after(decided, Failure(Reason.REFUSED, "Its subjects overlap with those of stream X.", passing=False))
    assert after.action is None
    assert after.next is Next.AFTER_BACKOFF
    assert condition(after, ConditionType.READY).reason is Reason.REFUSED
    assert condition(after, ConditionType.SYNCED).status == "False"


def test_what_may_have_been_done_is_neither_in_sync_nor_out_of_it() -> None:
    after = plan_after(plan(stream(), GONE), Failure(Reason.UNREACHABLE, "No answer.", passing=True))
    assert condition(after, ConditionType.SYNCED).status == "Unknown"
    assert condition(after, ConditionType.REACHABLE).status == "False"


def test_a_server_that_says_no_is_reachable() -> None:
    after = plan_after(plan(stream(), GONE), Failure(Reason.REFUSED, "There is no room.", passing=True))
    assert condition(after, ConditionType.REACHABLE).status == "True"
    no_stream = Surroundings(observed=Unknown(Reason.STREAM_NOT_FOUND, "There is no stream ORDERS."))
    assert condition(plan(consumer(), no_stream), ConditionType.REACHABLE).status == "True"


def test_drift_that_cannot_be_corrected_is_drift() -> None:
    decided = plan(stream(synced=1), has(stream(), max_msgs=5))
    after = plan_after(decided, Failure(Reason.REFUSED, "No.", passing=False))
    assert condition(after, ConditionType.DRIFTED).status == "True"


def test_a_deletion_that_fails_says_how_the_object_can_go_nevertheless() -> None:
    after = plan_after(plan(ending(DELETE), has(stream())), Failure(Reason.REFUSED, "It is sealed.", passing=False))
    assert ABANDON_ANNOTATION in ready(after)
    assert after.finalizer is Finalizer.AS_IS


def test_what_works_and_may_surprise_is_a_warning_beside_the_rest() -> None:
    short_lived = stream(spec={"storage": "Memory"}, synced=1)
    decided = plan(short_lived, Surroundings(observed=present(short_lived), warnings=("Too narrow.",)))
    assert condition(decided, ConditionType.READY).status == "True"
    warning = condition(decided, ConditionType.WARNING).message
    assert warning.startswith("storage: ")
    assert warning.endswith("Too narrow.")
