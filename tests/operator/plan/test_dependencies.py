"""Where an object is: which Connection leads there, whether it may be used, and what is waited for."""

from collections.abc import Mapping

import pytest

from penstock_operator.plan.connections import Connected, Connecting, Failing, LinkState
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.dependencies import Labels, Resolved, World, depends_on, resolve, selects
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Place, Waiting
from penstock_operator.resources.references import LabelSelector
from tests.operator.plan.builders import connection, consumer, declared, stream

NATS = Identity("Connection", "shop", "nats")
HUB = Identity("Connection", "hub", "nats")
ORDERS = Identity("Stream", "shop", "orders")
UP = Connected("account-1")


def world(*objects: Declared, link: LinkState | None = UP, namespaces: Mapping[str, Labels] | None = None) -> World:
    links = {NATS: link, HUB: link} if link else {}
    return World(declared={each.identity: each for each in objects}, links=links, namespaces=namespaces or {})


def of_hub(**allowed: object) -> Declared:
    return connection({"allowedNamespaces": allowed} if allowed else {}, namespace="hub")


def far() -> Declared:
    return stream(spec={"connectionRef": {"name": "nats", "namespace": "hub"}})


def reason(found: Resolved | Waiting) -> Reason:
    assert isinstance(found, Waiting)
    return found.reason


def test_a_stream_is_where_its_connection_leads() -> None:
    assert resolve(stream(), world(connection())) == Resolved(Place("account-1", "ORDERS"), NATS)


def test_a_stream_without_a_name_of_its_own_is_called_like_its_object() -> None:
    found = resolve(stream(spec={"name": None}), world(connection()))
    assert isinstance(found, Resolved)
    assert found.place.stream == "orders"


def test_a_consumer_is_in_the_stream_that_its_streams_object_declares() -> None:
    found = resolve(consumer(), world(connection(), stream(synced=1)))
    assert found == Resolved(Place("account-1", "ORDERS", "etl"), NATS)


def test_a_consumer_may_be_in_a_stream_that_nobody_declares() -> None:
    etl = declared("Consumer", "etl", {"connectionRef": {"name": "nats"}, "stream": "ELSEWHERE"})
    assert resolve(etl, world(connection())) == Resolved(Place("account-1", "ELSEWHERE", "etl"), NATS)


def test_a_connection_that_is_not_there_is_lost() -> None:
    found = resolve(stream(), world())
    assert found == Waiting(Reason.CONNECTION_NOT_FOUND, "There is no Connection shop/nats.", lost=True)


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (None, Reason.CONNECTING),
        (Connecting(), Reason.CONNECTING),
        (Failing(Reason.UNAUTHORIZED, "The user is not known."), Reason.CONNECTION_NOT_READY),
    ],
)
def test_a_connection_that_leads_nowhere_is_waited_for(link: LinkState | None, expected: Reason) -> None:
    assert reason(resolve(stream(), world(connection(), link=link))) is expected


def test_what_is_to_be_deleted_goes_over_a_link_that_is_open_for_that_alone() -> None:
    failing = Failing(Reason.SECRET_NOT_FOUND, "It is missing.", still_in="account-1")
    found = resolve(stream(deleting=True), world(connection(deleting=True), link=failing))
    assert found == Resolved(Place("account-1", "ORDERS"), NATS)
    assert reason(resolve(stream(), world(connection(), link=failing))) is Reason.CONNECTION_NOT_READY


def test_a_connection_that_cannot_be_understood_is_waited_for() -> None:
    assert reason(resolve(stream(), world(connection({"servers": []})))) is Reason.CONNECTION_NOT_READY


def test_a_consumer_waits_for_its_stream_to_be_declared() -> None:
    assert reason(resolve(consumer(), world(connection()))) is Reason.STREAM_NOT_FOUND


def test_a_consumer_waits_for_its_stream_to_be_made_and_says_what_that_waits_for() -> None:
    told = {"conditions": [{"type": "Ready", "status": "False", "message": "An older object declares it."}]}
    found = resolve(consumer(), world(connection(), stream(status=told)))
    assert isinstance(found, Waiting)
    assert found.reason is Reason.STREAM_NOT_READY
    assert "An older object declares it." in found.message


def test_a_consumer_does_not_wait_for_a_stream_that_was_made_whatever_ails_it_now() -> None:
    told = {"syncedGeneration": 1, "conditions": [{"type": "Ready", "status": "False", "message": "Drifted."}]}
    assert isinstance(resolve(consumer(), world(connection(), stream(status=told, generation=2))), Resolved)


def test_a_consumer_does_not_wait_for_a_stream_that_is_only_observed() -> None:
    assert isinstance(resolve(consumer(), world(connection(), stream({"policy": "Observe"}))), Resolved)


def test_nothing_is_made_in_a_stream_that_is_being_deleted() -> None:
    assert reason(resolve(consumer(), world(connection(), stream(synced=1, deleting=True)))) is Reason.STREAM_NOT_READY


def test_a_consumer_that_is_being_deleted_asks_no_more_of_its_stream_than_where_it_is() -> None:
    assert isinstance(resolve(consumer(deleting=True), world(connection(), stream(deleting=True))), Resolved)


ALLOWANCES: dict[str, tuple[dict[str, object], Mapping[str, Labels], bool]] = {
    "by default, only the same namespace": ({}, {}, False),
    "all": ({"from": "All"}, {}, True),
    "those that a selector chooses": (
        {"from": "Selector", "selector": {"matchLabels": {"team": "shop"}}},
        {"shop": {"team": "shop"}},
        True,
    ),
    "not those that a selector does not choose": (
        {"from": "Selector", "selector": {"matchLabels": {"team": "shop"}}},
        {"shop": {"team": "hub"}},
        False,
    ),
    "nobody of whom nothing is known": ({"from": "Selector", "selector": {}}, {}, False),
}


@pytest.mark.parametrize(("allowed", "namespaces", "may"), ALLOWANCES.values(), ids=ALLOWANCES)
def test_who_may_use_the_connection_of_another_namespace(
    allowed: dict[str, object],
    namespaces: Mapping[str, Labels],
    may: bool,  # noqa: FBT001 - a table's column
) -> None:
    found = resolve(far(), world(of_hub(**allowed), namespaces=namespaces))
    assert (
        found == Resolved(Place("account-1", "ORDERS"), HUB) if may else reason(found) is Reason.CONNECTION_NOT_ALLOWED
    )


@pytest.mark.parametrize(
    ("selector", "labels", "chosen"),
    [
        ({}, {}, True),
        ({"matchLabels": {"a": "1", "b": "2"}}, {"a": "1", "b": "2", "c": "3"}, True),
        ({"matchLabels": {"a": "1", "b": "2"}}, {"a": "1"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, {"a": "2"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, {}, False),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {"a": "1"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": ""}, True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {}, False),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"a": ""}, False),
    ],
)
def test_a_selector_chooses_as_everywhere_in_kubernetes(
    selector: dict[str, object],
    labels: Labels,
    chosen: bool,  # noqa: FBT001 - a table's column
) -> None:
    assert selects(LabelSelector.read(selector), labels) is chosen


def test_what_an_object_depends_on_is_named_before_it_is_there() -> None:
    assert depends_on(stream(), {}) == {NATS}
    assert depends_on(consumer(), {}) == {ORDERS}
    assert depends_on(consumer(), {ORDERS: far()}) == {ORDERS, HUB}
    assert depends_on(connection(), {}) == frozenset()


SEEN = {"connection": "shop/nats", "streamName": "ORDERS", "consumerName": "etl"}


def test_a_consumer_that_is_to_be_deleted_is_found_where_it_was_when_its_stream_object_went_before_it() -> None:
    etl = consumer(deleting=True, status=SEEN)
    assert resolve(etl, world(connection())) == Resolved(Place("account-1", "ORDERS", "etl"), NATS)
    assert depends_on(etl, {}) == {ORDERS, NATS}
    assert reason(resolve(consumer(status=SEEN), world(connection()))) is Reason.STREAM_NOT_FOUND
    assert reason(resolve(consumer(deleting=True), world(connection()))) is Reason.STREAM_NOT_FOUND


def test_a_consumer_that_is_to_be_deleted_is_not_taken_for_another_when_its_stream_object_means_another_by_now() -> (
    None
):
    etl = consumer(deleting=True, status=SEEN)
    other = stream(spec={"name": "OTHER"}, synced=1)
    assert resolve(etl, world(connection(), other)) == Resolved(Place("account-1", "ORDERS", "etl"), NATS)


def test_a_connection_that_allows_a_namespace_no_more_deletes_nothing_for_it() -> None:
    etl = consumer(deleting=True, status={**SEEN, "connection": "hub/nats"})
    assert reason(resolve(etl, world(of_hub()))) is Reason.CONNECTION_NOT_ALLOWED
