"""What becomes of the old place of an object that declares another now: nothing goes unasked, nor stays unsaid."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from penstock_operator.plan.conditions import place_ahead
from penstock_operator.plan.connections import Connected, Failing, LinkState
from penstock_operator.plan.decision import ConditionType, Delete, Failure, Finalizer, Next, Plan, Verdict
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.dependencies import Resolved, World, depends_on, former, resolve
from penstock_operator.plan.moves import newcomer
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.reconcile import plan, plan_after
from penstock_operator.plan.surroundings import Former, Missing, Observed, Place, Surroundings, Unknown, Waiting
from penstock_operator.resources.management import PAUSE_ANNOTATION, PAUSED, RECREATE_ANNOTATION
from tests.operator.plan.builders import OLDER, YOUNGER, connection, consumer, present, stream

NATS, HUB = (Identity("Connection", "shop", name) for name in ("nats", "hub"))
AT_NATS = {"connection": "shop/nats", "streamName": "ORDERS"}
AT_HUB = {"connectionRef": {"name": "hub"}}
DELETE = {"deletion": "Delete"}
OBSERVE = {"policy": "Observe"}
FULL = present(stream(), {"messages": 7})
AWAY = Unknown(Reason.UNREACHABLE, "No server answers.")


def moved(
    management: Mapping[str, str] | None = None,
    *,
    annotations: Mapping[str, str] | None = None,
    synced: int = 1,
    held: bool | None = None,
) -> Declared:
    """Return the Stream shop/orders, which was ORDERS over Connection nats, and is declared over hub now."""
    status = {**AT_NATS, "syncedGeneration": synced}
    finalizer = management == DELETE if held is None else held
    return stream(management, AT_HUB, generation=2, status=status, finalizer=finalizer, annotations=annotations)


def leaving(
    observed: Observed = FULL,
    holder: Identity | None = None,
    heir: Identity | None = None,
    **new: Any,  # noqa: ANN401
) -> Surroundings:
    behind = Former(
        was="stream ORDERS over A", becomes="stream ORDERS over B", observed=observed, holder=holder, heir=heir
    )
    return Surroundings(former=behind, **new)


def ready(decided: Plan) -> Verdict:
    return next(verdict for verdict in decided.verdicts if verdict.type is ConditionType.READY)


def told(decided: Plan) -> list[tuple[Reason, bool]]:
    return [(note.reason, note.is_warning) for note in decided.notes]


WARNED = [(Reason.MOVED, True)]


@pytest.mark.parametrize("observed", [FULL, AWAY])
@pytest.mark.parametrize("management", [{}, OBSERVE, {**OBSERVE, **DELETE}])
def test_what_is_not_to_go_with_its_object_stays_and_that_is_a_warning(
    management: Mapping[str, str], observed: Observed
) -> None:
    decided = plan(moved(management), leaving(observed))
    assert (decided.action, decided.leaves, decided.next) == (None, True, Next.AT_ONCE)
    assert told(decided) == WARNED
    assert "stream ORDERS over A" in decided.notes[0].message
    assert "stays there" in decided.notes[0].message


def test_what_was_to_go_and_is_to_stay_now_is_held_no_longer() -> None:
    assert plan(moved(held=True), leaving()).finalizer is Finalizer.REMOVE


def test_what_nobody_saw_to_while_it_was_there_stays() -> None:
    decided = plan(moved(DELETE, held=False), leaving())
    assert decided.leaves
    assert told(decided) == WARNED


@pytest.mark.parametrize("observed", [Missing(), Unknown(Reason.STREAM_NOT_FOUND, "There is no stream ORDERS.")])
def test_where_nothing_is_left_nothing_is_said(observed: Observed) -> None:
    decided = plan(moved(DELETE), leaving(observed))
    assert (decided.action, decided.leaves, decided.finalizer) == (None, True, Finalizer.REMOVE)
    assert told(decided) == []


def test_what_is_to_go_with_its_object_is_not_deleted_because_a_reference_was_edited() -> None:
    decided = plan(moved(DELETE), leaving())
    assert (decided.action, decided.leaves, decided.finalizer) == (None, False, Finalizer.AS_IS)
    assert (ready(decided).status, ready(decided).reason) == ("False", Reason.MOVED)
    assert told(decided) == WARNED
    for way_out in ("loses 7 messages", "Set back", "deletion: Retain", f'{RECREATE_ANNOTATION}: "2"'):
        assert way_out in ready(decided).message


def test_it_is_deleted_if_the_annotation_names_the_generation() -> None:
    decided = plan(moved(DELETE, annotations={RECREATE_ANNOTATION: "2"}), leaving())
    assert isinstance(decided.action, Delete)
    assert decided.leaves
    assert decided.finalizer is Finalizer.REMOVE
    assert told(decided) == [(Reason.DELETED, True)]
    assert decided.losses == ("The stream ORDERS over A loses 7 messages.",)


@pytest.mark.parametrize("synced", [1, 2])
def test_an_annotation_that_was_for_something_else_deletes_nothing(synced: int) -> None:
    """Generation 1 is over; and generation 2, where it was agreed with, moved with the Stream, not by itself."""
    decided = plan(moved(DELETE, annotations={RECREATE_ANNOTATION: str(synced)}, synced=synced), leaving())
    assert decided.action is None
    assert not decided.leaves


def test_nothing_is_given_up_before_the_new_place_can_be_had() -> None:
    allowed = moved(DELETE, annotations={RECREATE_ANNOTATION: "2"})
    for new, reason in (
        ({"holder": OLDER}, Reason.CONFLICT),
        ({"observed": present(moved(), storage="memory")}, Reason.IMMUTABLE),
    ):
        decided = plan(allowed, replace(leaving(), **new))
        assert (decided.action, decided.leaves, decided.finalizer) == (None, False, Finalizer.AS_IS)
        assert ready(decided).reason is reason


def test_a_paused_object_stays_where_it_is() -> None:
    allowed = {RECREATE_ANNOTATION: "2", PAUSE_ANNOTATION: PAUSED}
    decided = plan(moved(DELETE, annotations=allowed), leaving())
    assert ready(decided).reason is Reason.PAUSED
    assert not decided.leaves


@pytest.mark.parametrize(
    ("around", "other"), [(leaving(holder=OLDER), OLDER), (leaving(heir=YOUNGER), YOUNGER)], ids=["older", "younger"]
)
def test_what_another_object_declares_stays_with_that(around: Surroundings, other: Identity) -> None:
    decided = plan(moved(DELETE, annotations={RECREATE_ANNOTATION: "2"}), around)
    assert (decided.action, decided.leaves) == (None, True)
    assert str(other) in decided.notes[0].message


def test_what_cannot_be_asked_is_waited_for() -> None:
    decided = plan(moved(DELETE, annotations={RECREATE_ANNOTATION: "2"}), leaving(AWAY))
    assert (decided.action, decided.leaves, decided.next) == (None, False, Next.AFTER_BACKOFF)
    assert ready(decided).reason is Reason.MOVED
    assert "No server answers." in ready(decided).message


def test_a_deletion_that_fails_leaves_the_object_where_it_is() -> None:
    decided = plan(moved(DELETE, annotations={RECREATE_ANNOTATION: "2"}), leaving())
    after = plan_after(decided, Failure(Reason.REFUSED, "It is sealed.", passing=False))
    assert not after.leaves
    assert after.finalizer is Finalizer.AS_IS
    assert ready(after).message == "It is sealed."


def test_where_it_arrives_an_object_is_new() -> None:
    arrived = newcomer(moved(DELETE, synced=2))
    assert arrived.status == {}
    assert [note.reason for note in plan(arrived, Surroundings()).notes] == [Reason.CREATED]


# where an object was


def world(*objects: Declared, hub: LinkState | None = None) -> World:
    everything = (connection(), connection(name="hub"), *objects)
    links = {NATS: Connected("one"), HUB: hub or Connected("two")}
    return World(declared={each.identity: each for each in everything}, links=links)


def was(declared: Declared, around: World) -> Resolved | Waiting | None:
    at = resolve(declared, around)
    assert isinstance(at, Resolved)
    return former(declared, at, around)


def test_another_account_is_another_place() -> None:
    assert was(moved(), world()) == Resolved(Place("one", "ORDERS"), NATS)


def test_another_connection_to_the_same_account_is_the_same_place() -> None:
    assert was(moved(), world(hub=Connected("one"))) is None


def test_another_stream_is_another_place_for_a_consumer() -> None:
    etl = consumer(spec={"streamRef": {"name": "bills"}}, status={**AT_NATS, "consumerName": "etl"})
    bills = stream(spec={"name": "BILLS"}, name="bills", synced=1)
    assert was(etl, world(bills)) == Resolved(Place("one", "ORDERS", "etl"), NATS)


def test_a_connection_that_is_gone_may_have_led_elsewhere() -> None:
    around = world()
    gone = replace(around, declared={each: what for each, what in around.declared.items() if each != NATS})
    found = was(moved(), gone)
    assert isinstance(found, Waiting)
    assert found.lost


def test_an_object_that_was_nowhere_comes_from_nowhere() -> None:
    assert was(stream(spec=AT_HUB), world()) is None


def test_a_consumer_stays_where_its_stream_is_until_that_has_moved() -> None:
    found = resolve(consumer(), world(moved(DELETE)))
    assert isinstance(found, Waiting)
    assert found.reason is Reason.STREAM_NOT_READY
    assert "is not yet the stream ORDERS over Connection shop/hub" in found.message


def test_a_way_that_fails_is_no_move() -> None:
    failing = Failing(Reason.UNREACHABLE, "No server answers.")
    there = stream(spec=AT_HUB, status={**AT_NATS, "connection": "shop/hub"})
    assert isinstance(resolve(there, world(hub=failing)), Waiting)


def test_the_way_to_where_it_was_is_needed_as_well() -> None:
    assert depends_on(moved(), {}) == {NATS, HUB}


# what is written ahead


def test_what_shall_go_with_its_object_is_found_even_if_nobody_heard_that_it_was_made() -> None:
    at = Resolved(Place("one", "ORDERS"), NATS)
    status = place_ahead(stream(DELETE, finalizer=True), at)
    assert status == AT_NATS
    assert place_ahead(stream(DELETE, finalizer=True, status=status), at) is None
    assert place_ahead(stream(), at) is None
