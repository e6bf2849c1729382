"""The workflow of ADR-15 for subscriptions: each rule, step by step, without a server."""

# ruff: noqa: ANN401 - what is wanted and what exists are given by the names of their fields, which have types

from typing import Any

import pytest

from penstock_jetstream import errors
from penstock_jetstream.core.subscribing import (
    RACES_MAX,
    Create,
    Delete,
    FindStream,
    Listen,
    LookUp,
    Ready,
    Subscribing,
)
from penstock_jetstream.core.wanted import HEARTBEAT_NS, Wanted

INBOX = "_INBOX.here"
NAME_IN_USE = errors.ErrorCode.CONSUMER_NAME_EXISTS
EXISTS_OTHERWISE = errors.ErrorCode.CONSUMER_ALREADY_EXISTS
QUEUE: dict[str, Any] = {"deliver_group": "workers"}


def subscribing(**wanted: Any) -> Subscribing:
    return Subscribing(Wanted(**wanted), inbox=INBOX)


def started(**wanted: Any) -> Subscribing:
    """Return a subscription to the stream ORDERS that has begun; to the durable etl unless a queue is wanted."""
    durable = {} if "queue" in wanted or "bind" in wanted else {"durable": "etl"}
    machine = subscribing(**{"stream": "ORDERS", **durable, **wanted})
    machine.start()
    return machine


def existing(name: str = "etl", *, push_bound: bool = False, **config: Any) -> dict[str, Any]:
    """Return the info of a push consumer that another client created."""
    return {
        "stream_name": "ORDERS",
        "name": name,
        "push_bound": push_bound,
        "config": {"durable_name": name, "deliver_subject": "deliver.here", "ack_policy": "explicit", **config},
    }


class RefusedError(Exception):
    """What the server answered."""


@pytest.mark.requirement("S-01", "S-02", "S-03", "S-31")
def test_what_contradicts_itself_is_refused_before_the_server_is_asked(subtests: pytest.Subtests) -> None:
    queue: dict[str, Any] = {"subject": "orders.>", "queue": "workers"}
    pull: dict[str, Any] = {"subject": "orders.>", "pull": True}
    cases: list[tuple[dict[str, Any], str]] = [
        ({**queue, "config": {"idle_heartbeat": 1}}, "cannot be had with the queue workers"),
        ({**queue, "config": {"flow_control": True, "idle_heartbeat": 1}}, "cannot be had with the queue workers"),
        ({"durable": "etl"}, "needs a subject, or a stream"),
        ({**pull, "config": {"ack_policy": "none"}}, "ack_policy none"),
        ({**pull, "config": {"ack_policy": "all"}}, "ack_policy all"),
        ({**pull, "config": {"deliver_subject": "here"}}, "this subscription pulls"),
        ({**pull, "config": {"deliver_group": "workers"}}, "this subscription pulls"),
        (
            {"subject": "orders.>", "config": {"flow_control": True, "idle_heartbeat": 0}},
            "flow_control does not work without idle_heartbeat",
        ),
        ({"subject": "orders.>", "bind": "etl", "durable": "etl"}, ""),
        ({"subject": "orders.>", "durable": "etl", "config": {"durable_name": "other"}}, ""),
        ({"subject": "orders.eu", "config": {"filter_subject": "orders.us"}}, ""),
        ({"subject": "orders.eu", "config": {"filter_subjects": ["orders.us"]}}, ""),
        ({**queue, "config": {"deliver_group": "others"}}, ""),
    ]
    for wanted, sentence in cases:
        with subtests.test(str(wanted)), pytest.raises(errors.UsageError, match=sentence or None):
            subscribing(**wanted)


@pytest.mark.requirement("S-04")
def test_the_stream_is_the_named_one_or_the_only_one_that_has_the_subject() -> None:
    machine = subscribing(subject="orders.eu", bind="etl")
    assert machine.start() == [FindStream("orders.eu")]
    assert machine.streams_found(["ORDERS"]) == [LookUp("ORDERS", "etl")]
    assert subscribing(stream="ORDERS", durable="etl").start() == [LookUp("ORDERS", "etl")]
    assert subscribing(config={"filter_subject": "orders.eu"}).start() == [FindStream("orders.eu")]
    for names in ([], ["ORDERS", "COPIES"]):
        machine = subscribing(subject="orders.*")
        machine.start()
        with pytest.raises(errors.NoMatchingStreamError, match=r"orders\.\*") as caught:
            machine.streams_found(names)
        assert caught.value.streams == tuple(names)
        assert all(name in str(caught.value) for name in names)


# Finding the consumer


@pytest.mark.requirement("S-05")
def test_a_bound_consumer_is_looked_up_and_listened_to_or_an_error_if_it_cannot_be_found() -> None:
    machine = subscribing(stream="ORDERS", bind="etl")
    assert machine.start() == [LookUp("ORDERS", "etl")]
    info = existing()
    ready = Ready("ORDERS", "etl", info["config"], created=False)
    assert machine.consumer_found(info) == [Listen("deliver.here", ""), ready]
    with pytest.raises(errors.SubscriptionError, match="etl of stream ORDERS, which was to be bound, does not exist"):
        started(bind="etl").consumer_missing()
    with pytest.raises(RefusedError):
        started().look_up_failed(RefusedError())
    pulling = started(bind="etl", pull=True)
    assert pulling.look_up_failed(RefusedError()) == [Ready("ORDERS", "etl", {}, created=False)]


@pytest.mark.requirement("S-06")
def test_the_queue_names_the_durable_unless_another_is_given() -> None:
    machine = subscribing(stream="ORDERS", queue="workers")
    assert machine.start() == [LookUp("ORDERS", "workers")]
    listen, create = machine.consumer_missing()
    assert listen == Listen(INBOX, "workers")
    assert isinstance(create, Create)
    assert create.config["durable_name"] == create.config["deliver_group"] == "workers"
    machine = subscribing(stream="ORDERS", queue="workers", durable="etl")
    assert machine.start() == [LookUp("ORDERS", "etl")]
    machine.consumer_found(existing(deliver_group="workers"))


@pytest.mark.requirement("S-07", "S-08", "S-09", "S-10")
def test_a_consumer_that_does_not_match_is_an_error_that_names_both_sides(subtests: pytest.Subtests) -> None:
    orders = {"subject": "orders.eu"}
    asks = "this subscription asks for orders.eu"
    hers = {"ack_wait": 30_000_000_000, "max_deliver": -1, "description": "hers"}
    ours = {"ack_wait": 60_000_000_000, "max_deliver": 5, "ack_policy": "explicit", "description": "hers"}
    there = "'deliver.here' there and 'deliver.there' here"
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"push_bound": True}, {}, ""),
        (QUEUE, {}, "belongs to the queue workers; this subscription names none"),
        ({**QUEUE, "push_bound": True}, {}, "belongs to the queue workers; this subscription names none"),
        (QUEUE, {"queue": "others", "durable": "etl"}, "belongs to the queue workers; this subscription names others"),
        ({}, {"queue": "workers", "durable": "etl"}, "belongs to no queue; this subscription names workers"),
        ({"filter_subject": "orders.us"}, orders, f"delivers orders.us; {asks}"),
        ({"filter_subjects": ["orders.us", "orders.eu"]}, orders, f"delivers orders.us and orders.eu; {asks}"),
        ({}, orders, f"delivers every subject of the stream; {asks}"),
        ({}, {"pull": True}, "pushes its messages to deliver.here"),
        ({"deliver_subject": ""}, {}, "is there to be pulled from"),
        (hers, {"config": ours}, "ack_wait is 30000000000 there and 60000000000 here"),
        (hers, {"config": ours}, "max_deliver is -1 there and 5 here"),
        ({}, {"config": {"deliver_subject": "deliver.there"}}, f"deliver_subject is {there}"),
    ]
    for config, wanted, sentence in cases:
        with subtests.test(sentence):
            machine = started(**wanted)
            with pytest.raises(errors.ConsumerMismatchError) as caught:
                machine.consumer_found(existing(**config))
            assert isinstance(caught.value, errors.DuplicateSubscriptionError) is (not sentence)
            assert "Consumer etl of stream ORDERS" in caught.value.sentence
            assert sentence in str(caught.value)
            assert "description" not in str(caught.value)
            assert caught.value.advice
            assert machine.over() == []


@pytest.mark.requirement("S-07", "S-08", "S-10")
def test_a_consumer_that_matches_is_taken_whatever_else_it_has(subtests: pytest.Subtests) -> None:
    machine = started(queue="workers")
    listen, _ = machine.consumer_found(existing("workers", deliver_group="workers", push_bound=True))
    assert listen == Listen("deliver.here", "workers")
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"filter_subject": "orders.eu"}, {"subject": "orders.eu"}),
        ({"filter_subjects": ["orders.eu"]}, {"subject": "orders.eu"}),
        ({"ack_policy": "none", "max_deliver": 3, "idle_heartbeat": 1}, {}),
    ]
    for config, wanted in cases:
        with subtests.test(str(config)):
            assert isinstance(started(**wanted).consumer_found(existing(**config))[-1], Ready)


# Creating a consumer


@pytest.mark.requirement("S-11", "S-31")
def test_listening_begins_before_the_consumer_is_created_with_the_usual_or_the_callers_fields() -> None:
    usual = {
        "ack_policy": "explicit",
        "deliver_subject": INBOX,
        "flow_control": True,
        "idle_heartbeat": HEARTBEAT_NS,
    }
    filtered = {**usual, "filter_subject": "orders.eu"}
    machine = subscribing(stream="ORDERS", subject="orders.eu")
    assert machine.start() == [Listen(INBOX, ""), Create("ORDERS", filtered)]
    assert started().consumer_missing()[-1] == Create("ORDERS", {**usual, "durable_name": "etl"})
    flow_control = subscribing(stream="ORDERS", config={"flow_control": True})
    assert flow_control.start()[-1] == Create("ORDERS", usual)
    config = {"ack_policy": "none", "deliver_subject": "deliver.here", "idle_heartbeat": 0, "max_deliver": 1}
    created = [Listen("deliver.here", ""), Create("ORDERS", {**config, "flow_control": False})]
    assert subscribing(stream="ORDERS", config=config).start() == created
    pulled = {"ack_policy": "explicit", "durable_name": "etl", "filter_subject": "orders.eu"}
    assert started(subject="orders.eu", pull=True).consumer_missing() == [Create("ORDERS", pulled)]


@pytest.mark.requirement("S-12", "S-13")
def test_a_consumer_that_another_client_created_first_is_looked_up_but_not_forever() -> None:
    for err_code in (NAME_IN_USE, EXISTS_OTHERWISE):
        machine = started()
        machine.consumer_missing()
        assert machine.create_failed(RefusedError(), err_code) == [LookUp("ORDERS", "etl")]
        with pytest.raises(errors.DuplicateSubscriptionError):
            machine.consumer_found(existing(push_bound=True))
    machine = started(queue="workers")
    assert machine.consumer_missing()[0] == Listen(INBOX, "workers")
    machine.create_failed(RefusedError(), EXISTS_OTHERWISE)
    listen, ready = machine.consumer_found(existing("workers", deliver_group="workers"))
    assert listen == Listen("deliver.here", "workers")
    assert isinstance(ready, Ready)
    assert not ready.created
    assert machine.over() == []
    machine = subscribing(stream="ORDERS")
    machine.start()
    with pytest.raises(RefusedError):
        machine.create_failed(RefusedError(), 10101)
    machine = started()
    for _ in range(RACES_MAX):
        machine.consumer_missing()
        machine.create_failed(RefusedError(), EXISTS_OTHERWISE)
    machine.consumer_missing()
    with pytest.raises(RefusedError):
        machine.create_failed(RefusedError(), EXISTS_OTHERWISE)


@pytest.mark.requirement("S-12")
def test_the_end_deletes_once_what_was_created_here_unless_it_is_to_be_kept() -> None:
    for keep, deletions in ((False, [Delete("ORDERS", "etl")]), (True, [])):
        machine = started(keep=keep)
        machine.consumer_missing()
        assert machine.created(existing()) == [Ready("ORDERS", "etl", existing()["config"], created=True)]
        assert machine.over() == deletions
        assert machine.over() == []
    machine = started()
    machine.consumer_found(existing())
    assert machine.over() == [], "it existed before"
    assert started().over() == [], "nothing was created"
