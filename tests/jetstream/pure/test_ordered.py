"""When an ordered consumer is replaced, by what, and how soon: each rule by itself, without a server."""

# ruff: noqa: ANN401 - options and fields are given by their names, and have types where they are declared

from typing import Any

import pytest

from penstock_jetstream.core.actions import End, Report, WakeAt
from penstock_jetstream.core.ordered import (
    Action,
    Create,
    Drop,
    LookAtStream,
    Ordered,
    Read,
    Seen,
    State,
)
from penstock_jetstream.core.ordered_options import OrderedOptions, consumer_config, first_start, heartbeat_seconds
from penstock_jetstream.errors import (
    AuthenticationError,
    ConsumerDeletedError,
    GapError,
    HeartbeatMissedError,
    JetStreamError,
    LinkError,
    NoLeaderOrMissingError,
    StreamRestartedError,
    UsageError,
)

CREATED = "2026-01-01T00:00:00Z"
ANEW = "2026-02-02T00:00:00Z"
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


def start_of(actions: list[Action]) -> dict[str, Any]:
    """Return from where the consumer starts that is to be created."""
    (create,) = [action for action in actions if isinstance(action, Create)]
    return {name: value for name, value in create.config.items() if name in ("deliver_policy", *START)}


START = ("opt_start_seq", "opt_start_time")


def deleted() -> JetStreamError:
    return ConsumerDeletedError(stream="ORDERS", consumer="order_1")


class TestOptions:
    @pytest.mark.requirement("O-05")
    def test_what_is_needed_for_order_is_forced(self) -> None:
        config = consumer_config(options(), "order_1", first_start(options()))
        assert config == {
            "name": "order_1",
            "ack_policy": "none",
            "max_deliver": 1,
            "mem_storage": True,
            "num_replicas": 1,
            "deliver_policy": "all",
            "inactive_threshold": 300_000_000_000,
        }

    @pytest.mark.requirement("O-05", "O-06")
    @pytest.mark.parametrize(("expires", "heartbeat"), [(30, 5), (10, 5), (4, 2)])
    def test_the_heartbeat_is_5_s_or_half_of_what_a_request_lasts(self, expires: float, heartbeat: float) -> None:
        assert heartbeat_seconds(expires) == heartbeat

    @pytest.mark.requirement("O-03", "O-04")
    @pytest.mark.parametrize(
        "config",
        [
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
        ],
        ids=str,
    )
    def test_what_would_break_the_order_is_refused_before_any_request(self, config: dict[str, Any]) -> None:
        with pytest.raises(UsageError, match=next(iter(config))):
            options(config=config)

    @pytest.mark.parametrize("name", ["deliver_policy", "filter_subject", "filter_subjects", *START])
    def test_what_has_an_argument_of_its_own_is_not_given_twice(self, name: str) -> None:
        with pytest.raises(UsageError, match=name):
            options(config={name: "orders.>"})

    @pytest.mark.requirement("O-04")
    def test_what_is_forced_anyway_may_be_said(self) -> None:
        said = options(config={"ack_policy": "none", "max_deliver": 1, "mem_storage": True})
        assert consumer_config(said, "order_1", first_start(said)) == consumer_config(
            options(), "order_1", first_start(options())
        )

    def test_everything_else_is_the_callers(self) -> None:
        wanted = options(
            filter_subjects=["orders.eu"],
            deliver_policy="by_start_time",
            opt_start_time=CREATED,
            config={"headers_only": True, "inactive_threshold": 1},
        )
        config = consumer_config(wanted, "order_1", first_start(wanted))
        assert (config["filter_subject"], config["opt_start_time"]) == ("orders.eu", CREATED)
        assert (config["headers_only"], config["inactive_threshold"]) == (True, 1)

    def test_several_filters_are_a_list(self) -> None:
        wanted = options(filter_subjects=["orders.eu", "orders.us"])
        config = consumer_config(wanted, "order_1", first_start(wanted))
        assert config["filter_subjects"] == ["orders.eu", "orders.us"]
        assert "filter_subject" not in config


class TestOrder:
    @pytest.mark.requirement("O-06")
    def test_the_first_consumer_is_made_at_once_and_numbered(self) -> None:
        look, create = Ordered(options()).start()
        assert look == LookAtStream(1)
        assert isinstance(create, Create)
        assert create.config["name"] == "order_1"

    @pytest.mark.requirement("O-01")
    def test_messages_in_order_are_taken(self) -> None:
        machine = reading()
        assert [machine.is_next(1, delivery, 10 * delivery) for delivery in (1, 2, 3)] == [True, True, True]

    @pytest.mark.requirement("O-01")
    def test_after_a_gap_a_new_consumer_starts_behind_the_last_message_that_was_handed_over(self) -> None:
        """What is buffered is read again: so nothing that is kept can grow, whatever happens while the user is slow."""
        machine = reading()
        hand_over(machine, 10, 20)
        assert machine.is_next(1, 3, 1000 + 3)  # it is buffered
        assert not machine.is_next(1, 5, 1000 + 5)
        report, drop, create = machine.out_of_order(1, 5, 0)
        assert isinstance(report, Report)
        assert isinstance(report.error, GapError)
        assert (report.error.expected, report.error.got) == (4, 5)
        assert drop == Drop("order_1")
        assert start_of([create]) == {"deliver_policy": "by_start_sequence", "opt_start_seq": 21}
        succeed(machine)
        hand_over(machine, 30, number=2)

    @pytest.mark.requirement("O-01")
    def test_a_heartbeat_tells_that_the_last_messages_were_lost(self) -> None:
        machine = reading()
        hand_over(machine, 10)
        assert machine.heartbeat(1, 1, 0) == []
        assert Drop("order_1") in machine.heartbeat(1, 2, 0)

    @pytest.mark.requirement("O-02")
    @pytest.mark.parametrize(
        "error",
        [
            HeartbeatMissedError(stream="ORDERS", consumer="order_1", silent_seconds=10),
            deleted(),
            NoLeaderOrMissingError(stream="ORDERS", consumer="order_1"),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_whatever_befalls_the_consumer_is_told_and_a_new_one_made(self, error: JetStreamError) -> None:
        machine = reading()
        report, drop, create = machine.troubled(1, error, LONG_AFTER)
        assert (report, drop) == (Report(error), Drop("order_1"))
        assert isinstance(create, Create)
        assert (create.number, create.config["name"]) == (2, "order_2")

    @pytest.mark.requirement("O-07", "X-14")
    @pytest.mark.parametrize("seen_by", ["message", "heartbeat"])
    def test_a_consumer_that_somebody_reset_is_replaced(self, seen_by: str) -> None:
        machine = reading()
        hand_over(machine, 10, 20)
        assert not machine.is_next(1, 1, 1000 + 1)
        again = machine.out_of_order(1, 1, 0) if seen_by == "message" else machine.heartbeat(1, 0, 0)
        assert Drop("order_1") in again
        assert start_of(again)["opt_start_seq"] == 21

    def test_a_message_that_was_taken_before_is_never_taken_again(self) -> None:
        """Whatever a server does with the number of the delivery."""
        machine = reading()
        hand_over(machine, 10, 20)
        assert not machine.is_next(1, 3, 20)
        assert Drop("order_1") in machine.out_of_order(1, 3, 0)

    @pytest.mark.requirement("O-06")
    def test_when_the_link_is_back_a_new_consumer_takes_over(self) -> None:
        machine = reading()
        hand_over(machine, 10)
        assert machine.disconnected() == []
        assert machine.is_next(1, 2, 1000 + 2)  # it was buffered, and may be handed over meanwhile
        machine.handed(20, 0)
        drop, create = machine.reconnected(0)
        assert drop == Drop("order_1")
        assert start_of([create])["opt_start_seq"] == 21

    def test_what_belongs_to_a_consumer_that_was_dropped_is_ignored(self) -> None:
        machine = reading()
        machine.troubled(1, None, LONG_AFTER)
        succeed(machine)
        assert not machine.is_next(1, 1, 1000 + 1)
        assert machine.out_of_order(1, 1, LONG_AFTER) == []
        assert machine.heartbeat(1, 7, LONG_AFTER) == []
        assert machine.troubled(1, None, LONG_AFTER) == []
        assert machine.created(1, 0, LONG_AFTER) == []
        assert machine.is_next(2, 1, 1000 + 1)


class TestStart:
    @pytest.mark.parametrize("policy", ["new", "last"])
    def test_what_is_new_is_settled_by_the_first_consumer(self, policy: str) -> None:
        """The next one would otherwise find what came between them old."""
        machine = reading(deliver_policy=policy, floor=41)
        actions = machine.troubled(1, None, LONG_AFTER)
        assert start_of(actions) == {"deliver_policy": "by_start_sequence", "opt_start_seq": 42}

    def test_the_last_of_each_subject_is_asked_for_anew_until_one_was_handed_over(self) -> None:
        machine = reading(deliver_policy="last_per_subject", filter_subjects=["orders.*"])
        assert start_of(machine.troubled(1, None, LONG_AFTER)) == {"deliver_policy": "last_per_subject"}
        succeed(machine)
        hand_over(machine, 10, number=2)
        assert start_of(machine.troubled(2, None, LONG_AFTER))["opt_start_seq"] == 11

    def test_a_sequence_that_the_stream_has_not_reached_yet_is_waited_for(self) -> None:
        machine = reading(deliver_policy="by_start_sequence", opt_start_seq=5000, floor=4999)
        actions = machine.troubled(1, None, LONG_AFTER)
        assert start_of(actions) == {"deliver_policy": "by_start_sequence", "opt_start_seq": 5000}
        machine.created(2, 4999, LONG_AFTER)
        assert machine.stream_seen(2, seen(last=100), LONG_AFTER) == [Read(2, "order_2")]


class TestAStreamThatChanged:
    """By sequence, the next consumer would wait until the stream has as many messages as before: silently."""

    @staticmethod
    def next_after(machine: Ordered, found: Seen) -> list[Action]:
        machine.troubled(1, None, LONG_AFTER)
        machine.created(2, 0, LONG_AFTER)
        report, drop, create = machine.stream_seen(2, found, LONG_AFTER)
        assert isinstance(report, Report)
        assert isinstance(report.error, StreamRestartedError)
        assert drop == Drop("order_2")
        return [create]

    @pytest.mark.parametrize("last_sequence", [0, 500])
    def test_that_was_made_anew_is_read_from_the_time_where_we_were(self, last_sequence: int) -> None:
        machine = reading()
        hand_over(machine, 100)
        actions = self.next_after(machine, seen(ANEW, last=last_sequence))
        time = "1970-01-01T00:00:00.000100001Z"
        assert start_of(actions) == {"deliver_policy": "by_start_time", "opt_start_time": time}

    @pytest.mark.parametrize(
        "found",
        [seen(last=99), seen(first=0, first_ns=0, last=0), seen(first=1, first_ns=100_001, last=500)],
        ids=["its end", "everything", "everything, and has grown again"],
    )
    def test_that_lost_what_it_had_is_read_from_the_time_where_we_were(self, found: Seen) -> None:
        """As one in memory does when its server restarts."""
        machine = reading()
        hand_over(machine, 100)
        assert start_of(self.next_after(machine, found))["deliver_policy"] == "by_start_time"

    @pytest.mark.parametrize(
        "found",
        [seen(last=100), seen(first=50, first_ns=50_000), seen(first=100, first_ns=100_000), seen(first=101, last=100)],
        ids=["as before", "the beginning expired", "only the last is left", "all was purged"],
    )
    def test_only_by_growing_and_expiring_is_the_same(self, found: Seen) -> None:
        machine = reading()
        hand_over(machine, 100)
        machine.troubled(1, None, LONG_AFTER)
        machine.created(2, 100, LONG_AFTER)
        assert machine.stream_seen(2, found, LONG_AFTER) == [Read(2, "order_2")]

    @pytest.mark.parametrize(("policy", "then"), [("new", "all"), ("last_per_subject", "last_per_subject")])
    def test_before_anything_was_handed_over_has_nothing_old(self, policy: str, then: str) -> None:
        machine = reading(deliver_policy=policy, filter_subjects=["orders.>"], floor=41)
        assert start_of(self.next_after(machine, seen(ANEW, last=3))) == {"deliver_policy": then}

    def test_is_told_once(self) -> None:
        machine = reading()
        hand_over(machine, 100)
        self.next_after(machine, seen(ANEW, last=3))
        machine.created(3, 1, LONG_AFTER)
        assert machine.stream_seen(3, seen(ANEW, last=3), LONG_AFTER) == [Read(3, "order_3")]
        actions = machine.troubled(3, None, 2 * LONG_AFTER)
        assert start_of(actions) == {"deliver_policy": "by_start_sequence", "opt_start_seq": 2}

    def test_or_not_is_no_matter_where_it_may_not_be_looked_at(self) -> None:
        machine = reading()
        hand_over(machine, 100)
        machine.troubled(1, None, LONG_AFTER)
        machine.created(2, 100, LONG_AFTER)
        assert machine.stream_not_seen(2, LONG_AFTER) == [Read(2, "order_2")]


class TestPace:
    @pytest.mark.requirement("O-06")
    def test_attempts_that_fail_wait_1_2_4_8_and_then_10_seconds_for_ever(self) -> None:
        machine = reading()
        machine.troubled(1, None, LONG_AFTER)
        waits = []
        now = LONG_AFTER
        for _ in range(7):
            report, wake = machine.refused(machine.number, deleted(), now)
            assert isinstance(report, Report)
            assert isinstance(wake, WakeAt)
            waits.append(wake.time - now)
            now = wake.time
            (create,) = machine.tick(now)
            assert isinstance(create, Create)
        assert waits == [1, 2, 4, 8, 10, 10, 10]

    def test_what_an_attempt_took_counts_as_waiting(self) -> None:
        """As while a cluster elects a leader: who asks then is not answered at all."""
        machine = reading()
        machine.troubled(1, None, LONG_AFTER)
        *_, wake = machine.refused(2, deleted(), LONG_AFTER + 2)
        assert wake == WakeAt(LONG_AFTER + 2)
        machine.tick(LONG_AFTER + 2)
        *_, wake = machine.refused(3, deleted(), LONG_AFTER + 3)
        assert wake == WakeAt(LONG_AFTER + 4)

    @pytest.mark.requirement("O-06")
    def test_consumers_that_are_of_no_use_are_not_replaced_in_a_hot_loop(self) -> None:
        """As when each request is refused: the first is replaced at once, the others after longer and longer."""
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

    @pytest.mark.parametrize("use", ["a message", "a long life"])
    def test_a_consumer_that_was_of_use_is_replaced_at_once(self, use: str) -> None:
        machine = reading()
        machine.troubled(1, None, 0)
        succeed(machine)
        if use == "a message":
            assert machine.is_next(2, 1, 1000 + 1)
        now = 0 if use == "a message" else 10
        drop, create = machine.troubled(2, None, now)
        assert drop == Drop("order_2")
        assert isinstance(create, Create)

    def test_nothing_is_tried_without_a_link_and_all_at_once_when_it_is_back(self) -> None:
        machine = reading()
        machine.troubled(1, None, LONG_AFTER)
        machine.disconnected()
        machine.refused(2, deleted(), LONG_AFTER)
        assert machine.tick(2 * LONG_AFTER) == []
        (create,) = machine.reconnected(2 * LONG_AFTER)
        assert isinstance(create, Create)

    def test_a_consumer_that_could_never_be_made_is_the_callers_error(self) -> None:
        machine = Ordered(options())
        machine.start()
        error = deleted()
        assert machine.refused(1, error, 0) == [End(error)]
        assert machine.state is State.ENDED

    def test_a_link_that_was_lost_before_the_first_was_made_says_nothing_of_what_was_asked_for(self) -> None:
        machine = Ordered(options())
        machine.start()
        machine.disconnected()
        error = LinkError("The link was lost.")
        assert machine.refused(1, error, 0) == [Report(error), WakeAt(1)]
        (create,) = machine.reconnected(0)
        assert isinstance(create, Create)

    def test_who_may_not_make_or_read_it_is_told_so(self) -> None:
        machine = Ordered(options())
        machine.start()
        denied = AuthenticationError("You may not.")
        assert machine.refused(1, denied, 0) == [End(denied)]
        machine = reading()
        assert machine.troubled(1, denied, 0) == [Drop("order_1"), End(denied)]


class TestStop:
    def test_it_ends_and_takes_its_consumer_with_it(self) -> None:
        machine = reading()
        assert machine.stop() == [Drop("order_1"), End()]
        assert machine.stop() == []

    def test_a_consumer_that_is_being_made_goes_too(self) -> None:
        machine = Ordered(options())
        machine.start()
        assert machine.stop() == [Drop("order_1"), End()]

    def test_while_there_is_no_consumer_there_is_none_to_take(self) -> None:
        machine = reading()
        machine.troubled(1, None, LONG_AFTER)
        machine.refused(2, deleted(), LONG_AFTER)
        assert machine.stop() == [End()]

    def test_nothing_that_comes_later_brings_it_back(self) -> None:
        machine = reading()
        machine.stop()
        assert not machine.is_next(1, 1, 1000 + 1)
        assert machine.reconnected(0) == []
        assert machine.tick(LONG_AFTER) == []
        assert machine.troubled(1, None, 0) == []
