"""An object that declares another location now: what happens at its former one, and what is reported."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
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
FULL: Observed = present(stream(), {"messages": 7})
AWAY: Observed = Unknown(Reason.UNREACHABLE, "No server answers.")


def moved(
    management: Mapping[str, str] | None = None,
    *,
    annotations: Mapping[str, str] | None = None,
    synced: int = 1,
    held: bool | None = None,
) -> Declared:
    """Return the Stream shop/orders, which was ORDERS over Connection nats, and is now declared over hub."""
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
ALLOWED = moved(DELETE, annotations={RECREATE_ANNOTATION: "2"})


def test_retained_stream_stays_at_its_former_location_with_a_warning(subtests: pytest.Subtests) -> None:
    for management, observed in product([{}, OBSERVE, {**OBSERVE, **DELETE}], [FULL, AWAY]):
        with subtests.test(f"{management} {observed}"):
            decided = plan(moved(management), leaving(observed))
            assert (decided.action, decided.leaves, decided.next) == (None, True, Next.AT_ONCE)
            assert told(decided) == WARNED
            assert "stream ORDERS over A" in decided.notes[0].message
            assert "stays there" in decided.notes[0].message
    assert plan(moved(held=True), leaving()).finalizer is Finalizer.REMOVE, "it was to be deleted before"
    without_finalizer = plan(moved(DELETE, held=False), leaving())
    assert without_finalizer.leaves
    assert told(without_finalizer) == WARNED


def test_object_leaves_silently_where_nothing_is_left(subtests: pytest.Subtests) -> None:
    for observed in (Missing(), Unknown(Reason.STREAM_NOT_FOUND, "There is no stream ORDERS.")):
        with subtests.test(str(observed)):
            decided = plan(moved(DELETE), leaving(observed))
            assert (decided.action, decided.leaves, decided.finalizer) == (None, True, Finalizer.REMOVE)
            assert told(decided) == []


def test_edited_reference_alone_deletes_nothing() -> None:
    decided = plan(moved(DELETE), leaving())
    assert (decided.action, decided.leaves, decided.finalizer) == (None, False, Finalizer.AS_IS)
    assert (ready(decided).status, ready(decided).reason) == ("False", Reason.MOVED)
    assert told(decided) == WARNED
    for way_out in ("loses 7 messages", "Set back", "deletion: Retain", f'{RECREATE_ANNOTATION}: "2"'):
        assert way_out in ready(decided).message
    for synced in (1, 2):  # generation 1 is over; generation 2, in sync there, moved with the Stream and not by itself
        other = plan(moved(DELETE, annotations={RECREATE_ANNOTATION: str(synced)}, synced=synced), leaving())
        assert (other.action, other.leaves) == (None, False)


def test_former_stream_is_deleted_if_the_annotation_names_the_generation() -> None:
    decided = plan(ALLOWED, leaving())
    assert isinstance(decided.action, Delete)
    assert decided.leaves
    assert decided.finalizer is Finalizer.REMOVE
    assert told(decided) == [(Reason.DELETED, True)]
    assert decided.losses == ("The stream ORDERS over A loses 7 messages.",)
    after = plan_after(decided, Failure(Reason.REFUSED, "It is sealed.", passing=False))
    assert (after.leaves, after.finalizer, ready(after).message) == (False, Finalizer.AS_IS, "It is sealed.")


def test_object_stays_while_it_cannot_have_its_new_location_or_is_paused() -> None:
    for new, reason in (
        ({"holder": OLDER}, Reason.CONFLICT),
        ({"observed": present(moved(), storage="memory")}, Reason.IMMUTABLE),
    ):
        decided = plan(ALLOWED, replace(leaving(), **new))
        assert (decided.action, decided.leaves, decided.finalizer) == (None, False, Finalizer.AS_IS)
        assert ready(decided).reason is reason
    paused = plan(moved(DELETE, annotations={RECREATE_ANNOTATION: "2", PAUSE_ANNOTATION: PAUSED}), leaving())
    assert (ready(paused).reason, paused.leaves) == (Reason.PAUSED, False)


def test_stream_that_another_object_declares_stays_with_that_object() -> None:
    for around, other in ((leaving(holder=OLDER), OLDER), (leaving(heir=YOUNGER), YOUNGER)):
        decided = plan(ALLOWED, around)
        assert (decided.action, decided.leaves) == (None, True)
        assert str(other) in decided.notes[0].message


def test_object_waits_for_the_server_of_its_former_location() -> None:
    decided = plan(ALLOWED, leaving(AWAY))
    assert (decided.action, decided.leaves, decided.next) == (None, False, Next.AFTER_BACKOFF)
    assert ready(decided).reason is Reason.MOVED
    assert "No server answers." in ready(decided).message


def test_object_is_new_at_its_new_location() -> None:
    arrived = newcomer(moved(DELETE, synced=2))
    assert arrived.status == {}
    assert [note.reason for note in plan(arrived, Surroundings()).notes] == [Reason.CREATED]


# The former location


def world(*objects: Declared, hub: LinkState | None = None) -> World:
    everything = (connection(), connection(name="hub"), *objects)
    links = {NATS: Connected("one"), HUB: hub or Connected("two")}
    return World(declared={each.identity: each for each in everything}, links=links)


def was(declared: Declared, around: World) -> Resolved | Waiting | None:
    at = resolve(declared, around)
    assert isinstance(at, Resolved)
    return former(declared, at, around)


def test_former_location_is_in_another_account_or_stream_and_unknown_without_its_connection() -> None:
    assert was(moved(), world()) == Resolved(Place("one", "ORDERS"), NATS)
    assert was(moved(), world(hub=Connected("one"))) is None
    assert was(stream(spec=AT_HUB), world()) is None, "it was nowhere"
    assert depends_on(moved(), {}) == {NATS, HUB}
    etl = consumer(spec={"streamRef": {"name": "bills"}}, status={**AT_NATS, "consumerName": "etl"})
    bills = stream(spec={"name": "BILLS"}, name="bills", synced=1)
    assert was(etl, world(bills)) == Resolved(Place("one", "ORDERS", "etl"), NATS), "a consumer's former stream"
    around = world()
    gone = replace(around, declared={each: what for each, what in around.declared.items() if each != NATS})
    found = was(moved(), gone)
    assert isinstance(found, Waiting)
    assert found.lost


def test_consumer_stays_with_its_stream_until_that_has_moved() -> None:
    found = resolve(consumer(), world(moved(DELETE)))
    assert isinstance(found, Waiting)
    assert found.reason is Reason.STREAM_NOT_READY
    assert "is not yet the stream ORDERS over Connection shop/hub" in found.message


def test_failing_connection_is_no_move() -> None:
    failing = Failing(Reason.UNREACHABLE, "No server answers.")
    there = stream(spec=AT_HUB, status={**AT_NATS, "connection": "shop/hub"})
    assert isinstance(resolve(there, world(hub=failing)), Waiting)


def test_location_is_written_ahead_for_an_object_with_a_finalizer() -> None:
    at = Resolved(Place("one", "ORDERS"), NATS)
    status = place_ahead(stream(DELETE, finalizer=True), at)
    assert status == AT_NATS
    assert place_ahead(stream(DELETE, finalizer=True, status=status), at) is None
    assert place_ahead(stream(), at) is None
