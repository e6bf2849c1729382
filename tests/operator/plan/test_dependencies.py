"""Where an object is on a server: which Connection leads there, whether it may be used, and what it waits for."""

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
    """Return these objects with the Connection shop/nats, unless they replace it."""
    links = {NATS: link, HUB: link} if link else {}
    everything = {each.identity: each for each in (connection(), *objects)}
    return World(declared=everything, links=links, namespaces=namespaces or {})


def of_hub(**allowed: object) -> Declared:
    return connection({"allowedNamespaces": allowed} if allowed else {}, namespace="hub")


def reason(found: Resolved | Waiting) -> Reason:
    assert isinstance(found, Waiting)
    return found.reason


AT_ORDERS = Resolved(Place("account-1", "ORDERS"), NATS)
AT_ELSEWHERE = Resolved(Place("account-1", "ELSEWHERE", "etl"), NATS)
AT_ETL = Resolved(Place("account-1", "ORDERS", "etl"), NATS)
UNREADY = Failing(Reason.UNAUTHORIZED, "The user is not known.")
DELETING_ONLY = Failing(Reason.SECRET_NOT_FOUND, "It is missing.", still_in="account-1")
DRIFTED = {"syncedGeneration": 1, "conditions": [{"type": "Ready", "status": "False", "message": "Drifted."}]}
SEEN = {"connection": "shop/nats", "streamName": "ORDERS", "consumerName": "etl"}
LEAVING = consumer(deleting=True, status=SEEN)
ELSEWHERE = declared("Consumer", "etl", {"connectionRef": {"name": "nats"}, "stream": "ELSEWHERE"})


RESOLVED: dict[str, tuple[Declared, World, Resolved]] = {
    "a stream, over its connection": (stream(), world(), AT_ORDERS),
    "a stream named like its object": (
        stream(spec={"name": None}),
        world(),
        Resolved(Place("account-1", "orders"), NATS),
    ),
    "a consumer in the stream that its Stream declares": (consumer(), world(stream(synced=1)), AT_ETL),
    "a consumer in a stream without a Stream object": (ELSEWHERE, world(), AT_ELSEWHERE),
    "an object to delete, over a link that is open only for that": (
        stream(deleting=True),
        world(connection(deleting=True), link=DELETING_ONLY),
        AT_ORDERS,
    ),
    "a consumer of a stream that was made and has drifted since": (
        consumer(),
        world(stream(status=DRIFTED, generation=2)),
        AT_ETL,
    ),
    "a consumer of a stream that is only observed": (consumer(), world(stream({"policy": "Observe"})), AT_ETL),
    "a consumer that is being deleted with its stream": (consumer(deleting=True), world(stream(deleting=True)), AT_ETL),
    "a consumer to delete whose Stream object has gone before it": (LEAVING, world(), AT_ETL),
    "a consumer to delete whose Stream object means another stream by now": (
        LEAVING,
        world(stream(spec={"name": "OTHER"}, synced=1)),
        AT_ETL,
    ),
}
BLOCKED: dict[str, tuple[Declared, World, Reason]] = {
    "no attempt to connect yet": (stream(), world(link=None), Reason.CONNECTING),
    "a first attempt to connect": (stream(), world(link=Connecting()), Reason.CONNECTING),
    "a connection that fails": (stream(), world(link=UNREADY), Reason.CONNECTION_NOT_READY),
    "a link that is open only to delete": (stream(), world(link=DELETING_ONLY), Reason.CONNECTION_NOT_READY),
    "an invalid connection": (stream(), world(connection({"servers": []})), Reason.CONNECTION_NOT_READY),
    "a stream that is not declared": (consumer(), world(), Reason.STREAM_NOT_FOUND),
    "a stream that is being deleted": (consumer(), world(stream(synced=1, deleting=True)), Reason.STREAM_NOT_READY),
    "a stream object that has gone": (consumer(status=SEEN), world(), Reason.STREAM_NOT_FOUND),
    "a consumer to delete that was nowhere": (consumer(deleting=True), world(), Reason.STREAM_NOT_FOUND),
    "a connection that no longer allows the namespace": (
        consumer(deleting=True, status={**SEEN, "connection": "hub/nats"}),
        world(of_hub()),
        Reason.CONNECTION_NOT_ALLOWED,
    ),
}


def test_object_resolves_to_its_location_on_a_server(subtests: pytest.Subtests) -> None:
    for name, (object_, around, expected) in RESOLVED.items():
        with subtests.test(name):
            assert resolve(object_, around) == expected


def test_object_waits_for_a_reason(subtests: pytest.Subtests) -> None:
    for name, (object_, around, expected) in BLOCKED.items():
        with subtests.test(name):
            assert reason(resolve(object_, around)) is expected


def test_missing_connection_is_lost() -> None:
    found = resolve(stream(), World(declared={}, links={}, namespaces={}))
    assert found == Waiting(Reason.CONNECTION_NOT_FOUND, "There is no Connection shop/nats.", lost=True)


def test_consumer_waits_for_its_stream_to_be_made_and_says_what_that_waits_for() -> None:
    told = {"conditions": [{"type": "Ready", "status": "False", "message": "An older object declares it."}]}
    found = resolve(consumer(), world(stream(status=told)))
    assert isinstance(found, Waiting)
    assert found.reason is Reason.STREAM_NOT_READY
    assert "An older object declares it." in found.message


OF_SHOP: dict[str, object] = {"from": "Selector", "selector": {"matchLabels": {"team": "shop"}}}
ALLOWANCES: dict[str, tuple[dict[str, object], Mapping[str, Labels], bool]] = {
    "by default, only the same namespace": ({}, {}, False),
    "all": ({"from": "All"}, {}, True),
    "those that a selector chooses": (OF_SHOP, {"shop": {"team": "shop"}}, True),
    "not those that a selector does not choose": (OF_SHOP, {"shop": {"team": "hub"}}, False),
    "not a namespace with unknown labels": ({"from": "Selector", "selector": {}}, {}, False),
}


def test_connection_of_another_namespace_must_allow_it(subtests: pytest.Subtests) -> None:
    far = stream(spec={"connectionRef": {"name": "nats", "namespace": "hub"}})
    assert depends_on(consumer(), {ORDERS: far}) == {ORDERS, HUB}
    for name, (allowed, namespaces, may) in ALLOWANCES.items():
        with subtests.test(name):
            found = resolve(far, world(of_hub(**allowed), namespaces=namespaces))
            if may:
                assert found == Resolved(Place("account-1", "ORDERS"), HUB)
            else:
                assert reason(found) is Reason.CONNECTION_NOT_ALLOWED


def expression(operator: str, *values: str) -> dict[str, object]:
    return {"matchExpressions": [{"key": "a", "operator": operator, **({"values": values} if values else {})}]}


SELECTORS: list[tuple[dict[str, object], Labels, bool]] = [
    ({}, {}, True),
    ({"matchLabels": {"a": "1", "b": "2"}}, {"a": "1", "b": "2", "c": "3"}, True),
    ({"matchLabels": {"a": "1", "b": "2"}}, {"a": "1"}, False),
    (expression("In", "1", "2"), {"a": "2"}, True),
    (expression("In", "1", "2"), {}, False),
    (expression("NotIn", "1"), {}, True),
    (expression("NotIn", "1"), {"a": "1"}, False),
    (expression("Exists"), {"a": ""}, True),
    (expression("Exists"), {}, False),
    (expression("DoesNotExist"), {}, True),
    (expression("DoesNotExist"), {"a": ""}, False),
]


def test_selector_selects_as_in_kubernetes() -> None:
    for selector, labels, chosen in SELECTORS:
        assert selects(LabelSelector.read(selector), labels) is chosen, (selector, labels)


def test_dependencies_are_known_before_they_exist() -> None:
    assert depends_on(stream(), {}) == {NATS}
    assert depends_on(consumer(), {}) == {ORDERS}
    assert depends_on(connection(), {}) == frozenset()
    assert depends_on(LEAVING, {}) == {ORDERS, NATS}
