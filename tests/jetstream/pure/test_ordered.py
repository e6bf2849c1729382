"""When an ordered consumer is replaced, by what, and how soon: each rule by itself, without a server."""

# ruff: noqa: ANN401 - options and fields are given by their names, and have types where they are declared

from typing import Any

import pytest

from penstock_jetstream import errors
from penstock_jetstream.core.actions import End, Report, WakeAt
from penstock_jetstream.core.ordered import Action, Create, Drop, LookAtStream, Ordered, Read, Seen, State
from penstock_jetstream.core.ordered_options import OrderedOptions, consumer_config, first_start, heartbeat_seconds
from tests.jetstream.pure.driving import only, reported, wake_at

CREATED = "2026-01-01T00:00:00Z"
RECREATED = "2026-02-02T00:00:00Z"
LONG_AFTER = 1000.0


def options(**given: Any) -> OrderedOptions:
    return OrderedOptions(**{"stream": "ORDERS", "name_prefix": "order", **given})


def reading(*, floor: int = 0, now: float = 0, **given: Any) -> Ordered:
    """Return a machine whose first consumer is being read."""
    machine = Ordered(options(**given))
    machine.start()
    machine.stream_seen(1, seen(), now)
    assert machine.created(1, floor, now) == [Read(1, "order_1")]
    return machine


def seen(created: str = CREATED, *, first: int = 1, first_ns: int = 1, last: int = 10_000) -> Seen:
    return Seen(created, first, first_ns, last)


def succeed(machine: Ordered, *, floor: int = 0, now: float = 0) -> None:
    """Let the next consumer be made, and be read."""
    number = machine.number
    assert machine.created(number, floor, now) == [LookAtStream(number)]
    assert machine.stream_seen(number, seen(), now) == [Read(number, f"order_{number}")]


def hand_over(machine: Ordered, *stream_sequences: int, number: int = 1) -> None:
    """Let messages come, the deliveries 1, 2, … of the consumer, and be handed over."""
    for delivery, sequence in enumerate(stream_sequences, start=1):
        assert machine.is_next(number, delivery, sequence)
        machine.handed(sequence, sequence * 1000)


START = ("opt_start_seq", "opt_start_time")


def to_create(actions: list[Action]) -> list[object]:
    """Return the names of the consumers that are to be created."""
    return [create.config["name"] for create in only(Create, actions)]


def start_of(actions: list[Action]) -> dict[str, Any]:
    """Return where the consumer that is to be created starts."""
    (create,) = only(Create, actions)
    return {name: value for name, value in create.config.items() if name in ("deliver_policy", *START)}


def config_for(wanted: OrderedOptions) -> dict[str, Any]:
    return dict(consumer_config(wanted, "order_1", first_start(wanted)))


def deleted() -> errors.JetStreamError:
    return errors.ConsumerDeletedError(stream="ORDERS", consumer="order_1")


# Options


@pytest.mark.requirement("O-04", "O-05")
def test_the_configuration_forces_what_order_needs_and_keeps_the_rest() -> None:
    forced = {
        "name": "order_1",
        "ack_policy": "none",
        "max_deliver": 1,
        "mem_storage": True,
        "num_replicas": 1,
        "deliver_policy": "all",
        "inactive_threshold": 300_000_000_000,
    }
    assert config_for(options()) == forced
    assert config_for(options(config={"ack_policy": "none", "max_deliver": 1, "mem_storage": True})) == forced
    wanted = options(
        filter_subjects=["orders.eu"],
        deliver_policy="by_start_time",
        opt_start_time=CREATED,
        config={"headers_only": True, "inactive_threshold": 1},
    )
    own = {"filter_subject": "orders.eu", "opt_start_time": CREATED, "headers_only": True, "inactive_threshold": 1}
    assert config_for(wanted) == {**forced, "deliver_policy": "by_start_time", **own}
    filters = ["orders.eu", "orders.us"]
    assert config_for(options(filter_subjects=filters)) == {**forced, "filter_subjects": filters}


@pytest.mark.requirement("O-03", "O-04")
def test_options_that_break_the_order_or_have_an_argument_of_their_own_are_refused(subtests: pytest.Subtests) -> None:
    cases: list[dict[str, Any]] = [
        {"durable_name": "etl"},
        {"deliver_subject": "deliver.here"},
        {"deliver_group": "workers"},
        {"num_replicas": 3},
        {"num_replicas": 1},
        {"ack_policy": "explicit"},
        {"max_deliver": 2},
        {"flow_control": False},
        {"mem_storage": False},
        {"name": "mine"},
        {"priority_groups": ["one"]},
        *({name: "orders.>"} for name in ("deliver_policy", "filter_subject", "filter_subjects", *START)),
    ]
    for config in cases:
        with subtests.test(str(config)), pytest.raises(errors.UsageError, match=next(iter(config))):
            options(config=config)


# Order


@pytest.mark.requirement("O-05", "O-06")
def test_the_first_consumer_is_created_at_once_and_numbered_and_has_short_heartbeats() -> None:
    assert [heartbeat_seconds(expires) for expires in (30, 10, 4)] == [5, 5, 2], "at most half of a request's time"
    actions = Ordered(options()).start()
    assert actions[0] == LookAtStream(1)
    assert to_create(actions) == ["order_1"]


@pytest.mark.requirement("O-01")
def test_after_a_gap_a_new_consumer_starts_behind_the_last_message_that_was_handed_over() -> None:
    """What is buffered is read again: nothing that is kept can grow, however slow the user is."""
    machine = reading()
    hand_over(machine, 10, 20)
    assert machine.is_next(1, 3, 1000 + 3), "it is buffered"
    assert not machine.is_next(1, 5, 1000 + 5)
    actions = machine.out_of_order(1, 5, 0)
    (gap,) = [report.error for report in only(Report, actions) if isinstance(report.error, errors.GapError)]
    assert (gap.expected, gap.got) == (4, 5)
    assert actions[1] == Drop("order_1")
    assert start_of(actions) == {"deliver_policy": "by_start_sequence", "opt_start_seq": 21}
    succeed(machine)
    hand_over(machine, 30, number=2)
    machine = reading()
    hand_over(machine, 10)
    assert machine.heartbeat(1, 1, 0) == []
    assert Drop("order_1") in machine.heartbeat(1, 2, 0), "it shows that the last message was lost"


@pytest.mark.requirement("O-02")
def test_trouble_with_the_consumer_is_reported_and_a_new_one_created(subtests: pytest.Subtests) -> None:
    where = {"stream": "ORDERS", "consumer": "order_1"}
    missed, no_leader = errors.HeartbeatMissedError(**where, silent_seconds=10), errors.NoLeaderOrMissingError(**where)
    for error in (missed, deleted(), no_leader):
        with subtests.test(type(error).__name__):
            actions = reading().troubled(1, error, LONG_AFTER)
            assert actions[:2] == [Report(error), Drop("order_1")]
            assert to_create(actions) == ["order_2"]


@pytest.mark.requirement("O-07", "X-14")
def test_a_consumer_that_was_reset_is_replaced_and_no_message_is_taken_twice() -> None:
    for seen_by in ("message", "heartbeat"):
        machine = reading()
        hand_over(machine, 10, 20)
        assert not machine.is_next(1, 1, 1000 + 1)
        again = machine.out_of_order(1, 1, 0) if seen_by == "message" else machine.heartbeat(1, 0, 0)
        assert Drop("order_1") in again
        assert start_of(again)["opt_start_seq"] == 21
    machine = reading()
    hand_over(machine, 10, 20)
    assert not machine.is_next(1, 3, 20), "whatever a server does with the number of the delivery"
    assert Drop("order_1") in machine.out_of_order(1, 3, 0)


@pytest.mark.requirement("O-06")
def test_when_the_link_is_back_a_new_consumer_takes_over() -> None:
    machine = reading()
    hand_over(machine, 10)
    assert machine.disconnected() == []
    assert machine.is_next(1, 2, 1000 + 2), "it was buffered, and may be handed over without a link"
    machine.handed(20, 0)
    actions = machine.reconnected(0)
    assert actions[0] == Drop("order_1")
    assert start_of(actions)["opt_start_seq"] == 21


def test_what_belongs_to_a_consumer_that_was_dropped_is_ignored() -> None:
    machine = reading()
    machine.troubled(1, None, LONG_AFTER)
    succeed(machine)
    assert not machine.is_next(1, 1, 1000 + 1)
    assert machine.out_of_order(1, 1, LONG_AFTER) == []
    assert machine.heartbeat(1, 7, LONG_AFTER) == []
    assert machine.troubled(1, None, LONG_AFTER) == []
    assert machine.created(1, 0, LONG_AFTER) == []
    assert machine.is_next(2, 1, 1000 + 1)


# Start


def test_the_start_is_kept_until_a_message_was_handed_over(subtests: pytest.Subtests) -> None:
    """The first consumer fixes what is new: to the next one, what arrived between them would be old."""
    by_sequence = {"deliver_policy": "by_start_sequence"}
    last_of_each: dict[str, Any] = {"deliver_policy": "last_per_subject", "filter_subjects": ["orders.*"]}
    not_reached = {**by_sequence, "opt_start_seq": 5000}
    cases: list[tuple[dict[str, Any], int, dict[str, Any]]] = [
        ({"deliver_policy": "new"}, 41, {**by_sequence, "opt_start_seq": 42}),
        ({"deliver_policy": "last"}, 41, {**by_sequence, "opt_start_seq": 42}),
        (last_of_each, 0, {"deliver_policy": "last_per_subject"}),
        (not_reached, 4999, not_reached),
    ]
    for given, floor, start in cases:
        with subtests.test(str(given)):
            machine = reading(floor=floor, **given)
            assert start_of(machine.troubled(1, None, LONG_AFTER)) == start
            machine.created(2, floor, LONG_AFTER)
            assert machine.stream_seen(2, seen(last=100), LONG_AFTER) == [Read(2, "order_2")]
    machine = reading(**last_of_each)
    hand_over(machine, 10)
    assert start_of(machine.troubled(1, None, LONG_AFTER))["opt_start_seq"] == 11


# A stream that changed: by sequence, the next consumer would silently wait for as many messages as there were


def look_again(machine: Ordered, found: Seen | None, *, floor: int = 0) -> list[Action]:
    """Return what is done when the second consumer was created and the stream is found like that, or not at all."""
    machine.troubled(1, None, LONG_AFTER)
    machine.created(2, floor, LONG_AFTER)
    return machine.stream_seen(2, found, LONG_AFTER) if found else machine.stream_not_seen(2, LONG_AFTER)


def after_restart(machine: Ordered, found: Seen) -> dict[str, Any]:
    """Return where the next consumer starts once the stream is found like that, which must be reported."""
    actions = look_again(machine, found)
    assert reported(actions) == ["StreamRestartedError"]
    assert actions[1] == Drop("order_2")
    return start_of(actions)


def test_a_stream_that_was_recreated_or_lost_messages_is_read_from_the_time_of_the_last_message(
    subtests: pytest.Subtests,
) -> None:
    """A stream in memory loses its messages when its server restarts."""
    cases = {
        "recreated and empty": seen(RECREATED, last=0),
        "recreated": seen(RECREATED, last=500),
        "its end is lost": seen(last=99),
        "everything is lost": seen(first=0, first_ns=0, last=0),
        "everything is lost, and it has grown again": seen(first=1, first_ns=100_001, last=500),
    }
    for name, found in cases.items():
        with subtests.test(name):
            machine = reading()
            hand_over(machine, 100)
            time = "1970-01-01T00:00:00.000100001Z"
            assert after_restart(machine, found) == {"deliver_policy": "by_start_time", "opt_start_time": time}


def test_a_stream_that_only_grew_or_expired_or_cannot_be_looked_at_is_the_same(subtests: pytest.Subtests) -> None:
    cases = {
        "as before": seen(last=100),
        "the beginning expired": seen(first=50, first_ns=50_000),
        "only the last is left": seen(first=100, first_ns=100_000),
        "all was purged": seen(first=101, last=100),
        "may not be looked at": None,
    }
    for name, found in cases.items():
        with subtests.test(name):
            machine = reading()
            hand_over(machine, 100)
            assert look_again(machine, found, floor=100) == [Read(2, "order_2")]


def test_a_stream_that_was_recreated_is_reported_once_and_has_nothing_old_if_no_message_was_handed_over() -> None:
    for policy, then in (("new", "all"), ("last_per_subject", "last_per_subject")):
        machine = reading(deliver_policy=policy, filter_subjects=["orders.>"], floor=41)
        assert after_restart(machine, seen(RECREATED, last=3)) == {"deliver_policy": then}
    machine = reading()
    hand_over(machine, 100)
    after_restart(machine, seen(RECREATED, last=3))
    machine.created(3, 1, LONG_AFTER)
    assert machine.stream_seen(3, seen(RECREATED, last=3), LONG_AFTER) == [Read(3, "order_3")]
    actions = machine.troubled(3, None, 2 * LONG_AFTER)
    assert start_of(actions) == {"deliver_policy": "by_start_sequence", "opt_start_seq": 2}


# Pace


@pytest.mark.requirement("O-06")
def test_failed_attempts_are_retried_after_1_2_4_8_and_then_every_10_seconds() -> None:
    """The duration of an attempt counts: while a cluster elects a leader, requests are not answered at all."""
    machine = reading()
    machine.troubled(1, None, LONG_AFTER)
    waits = []
    now = LONG_AFTER
    for number in range(2, 9):
        actions = machine.refused(number, deleted(), now)
        assert reported(actions) == ["ConsumerDeletedError"]
        waits.append(wake_at(actions) - now)
        now = wake_at(actions)
        assert to_create(machine.tick(now)) == [f"order_{number + 1}"]
    assert waits == [1, 2, 4, 8, 10, 10, 10]
    machine = reading()
    machine.troubled(1, None, LONG_AFTER)
    assert machine.refused(2, deleted(), LONG_AFTER + 2)[-1] == WakeAt(LONG_AFTER + 2)
    machine.tick(LONG_AFTER + 2)
    assert machine.refused(3, deleted(), LONG_AFTER + 3)[-1] == WakeAt(LONG_AFTER + 4)


@pytest.mark.requirement("O-06")
def test_useless_consumers_are_not_replaced_in_a_hot_loop() -> None:
    """As when each request is refused: the first is replaced at once, the others with backoff."""
    machine = reading()
    waits = []
    now = 0.0
    for number in range(1, 6):
        actions = machine.troubled(number, None, now)
        if isinstance(wake := actions[-1], WakeAt):
            waits.append(wake.time - now)
            now = wake.time
            machine.tick(now)
        succeed(machine, now=now)
    assert waits == [1, 2, 4, 8]


def test_a_consumer_that_brought_a_message_or_lived_long_is_replaced_at_once() -> None:
    for brings_message, now in ((True, 0), (False, 10)):
        machine = reading()
        machine.troubled(1, None, 0)
        succeed(machine)
        assert not brings_message or machine.is_next(2, 1, 1000 + 1)
        actions = machine.troubled(2, None, now)
        assert actions[0] == Drop("order_2")
        assert to_create(actions) == ["order_3"]


def test_nothing_is_tried_without_a_link_and_a_consumer_is_created_at_once_when_it_is_back() -> None:
    machine = reading()
    machine.troubled(1, None, LONG_AFTER)
    machine.disconnected()
    machine.refused(2, deleted(), LONG_AFTER)
    assert machine.tick(2 * LONG_AFTER) == []
    assert to_create(machine.reconnected(2 * LONG_AFTER)) == ["order_3"]
    machine = Ordered(options())
    machine.start()
    machine.disconnected()
    lost = errors.LinkError("The link was lost.")
    assert machine.refused(1, lost, 0) == [Report(lost), WakeAt(1)]
    assert to_create(machine.reconnected(0)) == ["order_2"]


def test_the_refusal_of_the_first_consumer_or_of_the_user_ends_it() -> None:
    denied = errors.AuthenticationError("You may not.")
    for error in (deleted(), denied):
        machine = Ordered(options())
        machine.start()
        assert machine.refused(1, error, 0) == [End(error)]
        assert machine.state is State.ENDED
    assert reading().troubled(1, denied, 0) == [Drop("order_1"), End(denied)]


# Stop


def test_stop_drops_the_consumer_even_while_it_is_created_and_nothing_brings_it_back() -> None:
    machine = reading()
    assert machine.stop() == [Drop("order_1"), End()]
    assert machine.stop() == []
    assert not machine.is_next(1, 1, 1000 + 1)
    assert machine.reconnected(0) == []
    assert machine.tick(LONG_AFTER) == []
    assert machine.troubled(1, None, 0) == []
    machine = Ordered(options())
    machine.start()
    assert machine.stop() == [Drop("order_1"), End()]
    machine = reading()
    machine.troubled(1, None, LONG_AFTER)
    machine.refused(2, deleted(), LONG_AFTER)
    assert machine.stop() == [End()], "the server refused to create it"
