"""The workflow of ADR-15: each rule, step by step, without a server."""

# ruff: noqa: ANN401 - what is wanted and what exists are given by the names of their fields, which have types

from typing import Any

import pytest

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
from penstock_jetstream.errors import (
    ConsumerMismatchError,
    DuplicateSubscriptionError,
    ErrorCode,
    NoMatchingStreamError,
    SubscriptionError,
    UsageError,
)

INBOX = "_INBOX.here"
NAME_IN_USE = ErrorCode.CONSUMER_NAME_EXISTS
EXISTS_OTHERWISE = ErrorCode.CONSUMER_ALREADY_EXISTS


def subscribing(**wanted: Any) -> Subscribing:
    return Subscribing(Wanted(**wanted), inbox=INBOX)


def existing(name: str = "etl", *, push_bound: bool = False, **config: Any) -> dict[str, Any]:
    """Info of a push consumer that somebody made before."""
    return {
        "stream_name": "ORDERS",
        "name": name,
        "push_bound": push_bound,
        "config": {"durable_name": name, "deliver_subject": "deliver.here", "ack_policy": "explicit", **config},
    }


class RefusedError(Exception):
    """What the server said."""


class TestWhatCannotBe:
    @pytest.mark.requirement("S-01")
    @pytest.mark.parametrize("config", [{"idle_heartbeat": 1}, {"flow_control": True, "idle_heartbeat": 1}])
    def test_a_queue_has_no_heartbeats_and_no_flow_control(self, config: dict[str, Any]) -> None:
        with pytest.raises(UsageError, match=r"cannot be had with the queue workers"):
            subscribing(subject="orders.>", queue="workers", config=config)

    @pytest.mark.requirement("S-02")
    def test_neither_subject_nor_stream_is_no_subscription(self) -> None:
        with pytest.raises(UsageError, match="needs a subject, or a stream"):
            subscribing(durable="etl")

    @pytest.mark.requirement("S-03")
    @pytest.mark.parametrize("policy", ["none", "all"])
    def test_who_pulls_acknowledges_each_message(self, policy: str) -> None:
        with pytest.raises(UsageError, match=f"ack_policy {policy}"):
            subscribing(subject="orders.>", pull=True, config={"ack_policy": policy})

    @pytest.mark.parametrize("config", [{"deliver_subject": "here"}, {"deliver_group": "workers"}])
    def test_who_pulls_gives_nothing_that_is_for_pushing(self, config: dict[str, Any]) -> None:
        with pytest.raises(UsageError, match="this subscription pulls"):
            subscribing(subject="orders.>", pull=True, config=config)

    @pytest.mark.requirement("S-31")
    def test_flow_control_without_heartbeats_is_refused_before_the_server_is_asked(self) -> None:
        with pytest.raises(UsageError, match="flow_control does not work without idle_heartbeat"):
            subscribing(subject="orders.>", config={"flow_control": True, "idle_heartbeat": 0})

    @pytest.mark.parametrize(
        "wanted",
        [
            {"bind": "etl", "durable": "etl"},
            {"durable": "etl", "config": {"durable_name": "other"}},
            {"subject": "orders.eu", "config": {"filter_subject": "orders.us"}},
            {"subject": "orders.eu", "config": {"filter_subjects": ["orders.us"]}},
            {"queue": "workers", "config": {"deliver_group": "others"}},
        ],
        ids=str,
    )
    def test_what_contradicts_itself_is_refused(self, wanted: dict[str, Any]) -> None:
        with pytest.raises(UsageError):
            subscribing(**{"subject": "orders.>", **wanted})


class TestFindingTheStream:
    @pytest.mark.requirement("S-04")
    def test_the_stream_is_the_one_that_has_the_subject(self) -> None:
        machine = subscribing(subject="orders.eu", bind="etl")
        assert machine.start() == [FindStream("orders.eu")]
        assert machine.streams_found(["ORDERS"]) == [LookUp("ORDERS", "etl")]

    @pytest.mark.requirement("S-04")
    @pytest.mark.parametrize("names", [[], ["ORDERS", "COPIES"]], ids=["none", "two"])
    def test_a_subject_that_no_stream_or_several_have_is_an_error_that_tells_which(self, names: list[str]) -> None:
        machine = subscribing(subject="orders.*")
        machine.start()
        with pytest.raises(NoMatchingStreamError, match=r"orders\.\*") as caught:
            machine.streams_found(names)
        assert caught.value.streams == tuple(names)
        assert all(name in str(caught.value) for name in names)

    def test_a_stream_that_was_named_is_not_looked_for(self) -> None:
        assert subscribing(stream="ORDERS", durable="etl").start() == [LookUp("ORDERS", "etl")]

    def test_a_filter_in_the_configuration_finds_the_stream_as_the_subject_does(self) -> None:
        assert subscribing(config={"filter_subject": "orders.eu"}).start() == [FindStream("orders.eu")]


class TestFindingTheConsumer:
    @pytest.mark.requirement("S-05")
    def test_a_bound_consumer_is_looked_up_and_listened_to(self) -> None:
        machine = subscribing(stream="ORDERS", bind="etl")
        assert machine.start() == [LookUp("ORDERS", "etl")]
        info = existing()
        assert machine.consumer_found(info) == [
            Listen("deliver.here", ""),
            Ready("ORDERS", "etl", info["config"], created=False),
        ]

    @pytest.mark.requirement("S-05")
    def test_a_bound_consumer_that_does_not_exist_is_an_error_and_is_not_made(self) -> None:
        machine = subscribing(stream="ORDERS", bind="etl")
        machine.start()
        with pytest.raises(SubscriptionError, match="etl of stream ORDERS, which was to be bound, does not exist"):
            machine.consumer_missing()

    @pytest.mark.requirement("S-05")
    def test_a_look_up_that_fails_is_the_callers_error(self) -> None:
        machine = subscribing(stream="ORDERS", durable="etl")
        machine.start()
        with pytest.raises(RefusedError):
            machine.look_up_failed(RefusedError())

    @pytest.mark.requirement("S-05")
    def test_who_pulls_goes_on_without_the_look_up(self) -> None:
        machine = subscribing(stream="ORDERS", bind="etl", pull=True)
        machine.start()
        assert machine.look_up_failed(RefusedError()) == [Ready("ORDERS", "etl", {}, created=False)]

    @pytest.mark.requirement("S-06")
    def test_a_queue_is_the_durable_where_none_is_named(self) -> None:
        machine = subscribing(stream="ORDERS", queue="workers")
        assert machine.start() == [LookUp("ORDERS", "workers")]
        listen, create = machine.consumer_missing()
        assert listen == Listen(INBOX, "workers")
        assert isinstance(create, Create)
        assert create.config["durable_name"] == create.config["deliver_group"] == "workers"

    @pytest.mark.requirement("S-06")
    def test_a_queue_with_a_durable_of_another_name_shares_that_one(self) -> None:
        machine = subscribing(stream="ORDERS", queue="workers", durable="etl")
        assert machine.start() == [LookUp("ORDERS", "etl")]
        machine.consumer_found(existing(deliver_group="workers"))


class TestABoundConsumer:
    """Each difference is an error that names both sides, and what to do."""

    @staticmethod
    def refuse(info: dict[str, Any], **wanted: Any) -> ConsumerMismatchError:
        machine = subscribing(**{"stream": "ORDERS", "durable": "etl", **wanted})
        machine.start()
        with pytest.raises(ConsumerMismatchError) as caught:
            machine.consumer_found(info)
        assert "Consumer etl of stream ORDERS" in caught.value.sentence
        assert caught.value.advice
        assert machine.over() == []
        return caught.value

    @pytest.mark.requirement("S-07")
    def test_that_has_a_subscriber_takes_no_second_one(self) -> None:
        assert isinstance(self.refuse(existing(push_bound=True)), DuplicateSubscriptionError)

    @pytest.mark.requirement("S-07")
    @pytest.mark.parametrize("push_bound", [False, True])
    def test_of_a_queue_takes_none_but_its_members(self, push_bound: bool) -> None:  # noqa: FBT001 - a case
        error = self.refuse(existing(deliver_group="workers", push_bound=push_bound))
        assert "belongs to the queue workers; this subscription names none" in str(error)

    @pytest.mark.requirement("S-07")
    def test_of_one_queue_takes_no_member_of_another(self) -> None:
        error = self.refuse(existing(deliver_group="workers"), queue="others")
        assert "belongs to the queue workers; this subscription names others" in str(error)

    @pytest.mark.requirement("S-07")
    def test_of_no_queue_takes_no_member_of_any(self) -> None:
        error = self.refuse(existing(), queue="workers")
        assert "belongs to no queue; this subscription names workers" in str(error)

    @pytest.mark.requirement("S-07")
    def test_of_the_same_queue_takes_one_more_member(self) -> None:
        machine = subscribing(stream="ORDERS", queue="workers")
        machine.start()
        listen, _ = machine.consumer_found(existing("workers", deliver_group="workers", push_bound=True))
        assert listen == Listen("deliver.here", "workers")

    @pytest.mark.requirement("S-08")
    @pytest.mark.parametrize(
        ("config", "delivers"),
        [
            ({"filter_subject": "orders.us"}, "orders.us"),
            ({"filter_subjects": ["orders.us", "orders.eu"]}, "orders.us and orders.eu"),
            ({}, "every subject of the stream"),
        ],
    )
    def test_delivers_exactly_the_subject_that_is_asked_for(self, config: dict[str, Any], delivers: str) -> None:
        error = self.refuse(existing(**config), subject="orders.eu")
        assert f"delivers {delivers}; this subscription asks for orders.eu" in str(error)

    @pytest.mark.requirement("S-08")
    @pytest.mark.parametrize("config", [{"filter_subject": "orders.eu"}, {"filter_subjects": ["orders.eu"]}])
    def test_with_the_same_filter_is_taken(self, config: dict[str, Any]) -> None:
        machine = subscribing(stream="ORDERS", durable="etl", subject="orders.eu")
        machine.start()
        assert isinstance(machine.consumer_found(existing(**config))[-1], Ready)

    @pytest.mark.requirement("S-09")
    def test_that_pushes_is_not_pulled_from(self) -> None:
        assert "pushes its messages to deliver.here" in str(self.refuse(existing(), pull=True))

    @pytest.mark.requirement("S-09")
    def test_that_is_pulled_from_does_not_push(self) -> None:
        assert "is there to be pulled from" in str(self.refuse(existing(deliver_subject="")))

    @pytest.mark.requirement("S-10")
    def test_that_is_configured_otherwise_is_refused_and_each_difference_is_told(self) -> None:
        error = self.refuse(
            existing(ack_wait=30_000_000_000, max_deliver=-1, description="hers"),
            config={"ack_wait": 60_000_000_000, "max_deliver": 5, "ack_policy": "explicit", "description": "hers"},
        )
        assert "ack_wait is 30000000000 there and 60000000000 here" in str(error)
        assert "max_deliver is -1 there and 5 here" in str(error)
        assert "description" not in str(error)

    @pytest.mark.requirement("S-10")
    def test_delivers_to_the_subject_that_is_asked_for(self) -> None:
        error = self.refuse(existing(), config={"deliver_subject": "deliver.there"})
        assert "deliver_subject is 'deliver.here' there and 'deliver.there' here" in str(error)

    @pytest.mark.requirement("S-10")
    def test_may_have_anything_of_which_the_caller_said_nothing(self) -> None:
        machine = subscribing(stream="ORDERS", durable="etl")
        machine.start()
        assert machine.consumer_found(existing(ack_policy="none", max_deliver=3, idle_heartbeat=1))


class TestMakingAConsumer:
    @pytest.mark.requirement("S-11")
    def test_listening_begins_before_the_consumer_is_made(self) -> None:
        listen, create = subscribing(stream="ORDERS", subject="orders.eu").start()
        assert listen == Listen(INBOX, "")
        assert create == Create(
            "ORDERS",
            {
                "ack_policy": "explicit",
                "filter_subject": "orders.eu",
                "deliver_subject": INBOX,
                "flow_control": True,
                "idle_heartbeat": HEARTBEAT_NS,
            },
        )

    def test_a_durable_that_is_missing_is_made_under_its_name(self) -> None:
        machine = subscribing(stream="ORDERS", durable="etl")
        machine.start()
        create = machine.consumer_missing()[-1]
        assert isinstance(create, Create)
        assert create.config["durable_name"] == "etl"

    def test_what_the_caller_gives_takes_the_place_of_what_is_usual(self) -> None:
        config = {"ack_policy": "none", "deliver_subject": "deliver.here", "idle_heartbeat": 0, "max_deliver": 1}
        listen, create = subscribing(stream="ORDERS", config=config).start()
        assert listen == Listen("deliver.here", "")
        assert create == Create("ORDERS", {**config, "flow_control": False})

    @pytest.mark.requirement("S-31")
    def test_flow_control_comes_with_heartbeats(self) -> None:
        create = subscribing(stream="ORDERS", config={"flow_control": True}).start()[-1]
        assert isinstance(create, Create)
        assert create.config["idle_heartbeat"] == HEARTBEAT_NS

    def test_who_pulls_listens_to_nothing_yet(self) -> None:
        machine = subscribing(subject="orders.eu", stream="ORDERS", durable="etl", pull=True)
        machine.start()
        config = {"ack_policy": "explicit", "durable_name": "etl", "filter_subject": "orders.eu"}
        assert machine.consumer_missing() == [Create("ORDERS", config)]

    @pytest.mark.requirement("S-13")
    @pytest.mark.parametrize("err_code", [NAME_IN_USE, EXISTS_OTHERWISE])
    def test_a_consumer_that_somebody_else_made_first_is_looked_up_and_checked(self, err_code: int) -> None:
        machine = subscribing(stream="ORDERS", durable="etl")
        machine.start()
        machine.consumer_missing()
        assert machine.create_failed(RefusedError(), err_code) == [LookUp("ORDERS", "etl")]
        with pytest.raises(DuplicateSubscriptionError):
            machine.consumer_found(existing(push_bound=True))

    @pytest.mark.requirement("S-13", "S-12")
    def test_a_consumer_that_somebody_else_made_first_is_listened_to_and_is_theirs(self) -> None:
        machine = subscribing(stream="ORDERS", queue="workers")
        machine.start()
        assert machine.consumer_missing()[0] == Listen(INBOX, "workers")
        machine.create_failed(RefusedError(), EXISTS_OTHERWISE)
        listen, ready = machine.consumer_found(existing("workers", deliver_group="workers"))
        assert listen == Listen("deliver.here", "workers")
        assert isinstance(ready, Ready)
        assert not ready.created
        assert machine.over() == []

    @pytest.mark.requirement("S-13")
    def test_a_consumer_that_comes_and_goes_for_ever_is_an_error_in_the_end(self) -> None:
        machine = subscribing(stream="ORDERS", durable="etl")
        machine.start()
        for _ in range(RACES_MAX):
            machine.consumer_missing()
            machine.create_failed(RefusedError(), EXISTS_OTHERWISE)
        machine.consumer_missing()
        with pytest.raises(RefusedError):
            machine.create_failed(RefusedError(), EXISTS_OTHERWISE)

    def test_any_other_refusal_is_the_callers_error(self) -> None:
        machine = subscribing(stream="ORDERS")
        machine.start()
        with pytest.raises(RefusedError):
            machine.create_failed(RefusedError(), 10101)


class TestTheEnd:
    @staticmethod
    def made_here(**wanted: Any) -> Subscribing:
        machine = subscribing(stream="ORDERS", durable="etl", **wanted)
        machine.start()
        machine.consumer_missing()
        assert machine.created(existing()) == [Ready("ORDERS", "etl", existing()["config"], created=True)]
        return machine

    @pytest.mark.requirement("S-12")
    def test_what_was_made_here_is_deleted_once(self) -> None:
        machine = self.made_here()
        assert machine.over() == [Delete("ORDERS", "etl")]
        assert machine.over() == []

    @pytest.mark.requirement("S-12")
    def test_what_was_there_before_stays(self) -> None:
        machine = subscribing(stream="ORDERS", durable="etl")
        machine.start()
        machine.consumer_found(existing())
        assert machine.over() == []

    @pytest.mark.requirement("S-12")
    def test_what_is_to_be_kept_stays(self) -> None:
        assert self.made_here(keep=True).over() == []

    def test_a_subscription_that_came_to_nothing_made_nothing(self) -> None:
        machine = subscribing(stream="ORDERS", durable="etl")
        machine.start()
        assert machine.over() == []
