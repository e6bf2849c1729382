"""Lost messages are counted from looks at stream and consumer: never too many, and all without redeliveries."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from penstock_operator.plan.decision import ConditionType
from penstock_operator.plan.message_loss import (
    ConsumerPosition,
    as_written,
    count_losses,
    loss_notes,
    loss_verdicts,
    new_losses,
    removing_limits,
    takes_all,
    written_loss,
)
from penstock_operator.plan.reasons import Reason
from penstock_operator.resources.message_loss import MessageLoss


@dataclass
class Served:
    """A stream, and a consumer of it that takes each message, or only those with even sequences."""

    takes_all: bool = True
    removes_acked: bool = False
    stored: set[int] = field(default_factory=set)
    last: int = 0
    delivered: int = 0
    deliveries: int = 0
    unacked: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    """The truth."""

    def is_ours(self, sequence: int) -> bool:
        return self.takes_all or sequence % 2 == 0

    def publish(self, number: int) -> None:
        self.stored |= set(range(self.last + 1, self.last + number + 1))
        self.last += number

    def deliver(self, number: int) -> None:
        ahead = sorted(each for each in self.stored if each > self.delivered and self.is_ours(each))[:number]
        self.unacked |= set(ahead)
        self.deliveries += len(ahead)
        self.delivered = ahead[-1] if ahead else self.delivered

    def redeliver(self, number: int) -> None:
        self.deliveries += min(number, len(self.unacked))

    def ack(self, number: int) -> None:
        for each in sorted(self.unacked)[:number]:
            self.unacked.remove(each)
            if self.removes_acked:
                self.stored.discard(each)

    def remove(self, gone: set[int]) -> None:
        self.stored -= gone
        self.unacked -= gone
        self.lost |= {each for each in gone if each > self.delivered and self.is_ours(each)}

    def expire(self, number: int) -> None:
        self.remove(set(sorted(self.stored)[:number]))

    def delete(self, number: int) -> None:
        self.remove(set(sorted(self.stored)[number : number + 2]))

    def purge(self, number: int) -> None:
        """As a server does it, which moves the consumer along."""
        self.remove(set(sorted(self.stored)[:number]))
        self.delivered = max(self.delivered, self.first - 1)

    @property
    def first(self) -> int:
        return min(self.stored, default=self.last + 1)

    def read(self) -> dict[str, Any]:
        """Read the stream."""
        held = self.last - self.first + 1
        return {"first": self.first, "last": self.last, "deleted": held - len(self.stored)}

    def position(self, stream: dict[str, Any] | None = None) -> ConsumerPosition:
        """Read the consumer, after the stream."""
        return ConsumerPosition(
            **(stream or self.read()),
            incarnation="once",
            server="A",
            removes_acked=self.removes_acked,
            takes_all=self.takes_all,
            limits="maxMessages: 100",
            max_deliver=None,
            delivered=self.delivered,
            deliveries=self.deliveries,
            pending=sum(each > self.delivered and self.is_ours(each) for each in self.stored),
            ack_pending=len(self.unacked),
            redelivered=0,
        )


def look(loss: MessageLoss | None, now: ConsumerPosition) -> MessageLoss:
    """Count, with what another process has written."""
    written = json.loads(json.dumps(as_written(loss)))
    return count_losses(written_loss({"messageLoss": written}) if written else None, now)


STEPS = ("publish", "deliver", "redeliver", "ack", "expire", "delete", "purge", "look", "look slowly")
STEP = some.tuples(some.sampled_from(STEPS), some.integers(0, 9))


@settings(max_examples=60)
@given(steps=some.lists(STEP, max_size=30), all_=some.booleans(), removes_acked=some.booleans())
def test_count_never_exceeds_what_was_lost_and_is_exact_without_redeliveries(
    *, steps: list[tuple[str, int]], all_: bool, removes_acked: bool
) -> None:
    served = Served(all_, removes_acked)
    loss = look(None, served.position())
    between: dict[str, Any] | None = None
    for name, number in steps:
        if name == "look":
            loss, between = look(loss, served.position(between)), None
        elif name == "look slowly":  # others do something between the two reads
            between = between or served.read()
        else:
            getattr(served, name)(number)
        assert loss.expired <= len(served.lost)
    loss = look(loss, served.position())
    assert loss.expired <= len(served.lost)
    served.publish(1)
    served.deliver(len(served.stored))  # past all gaps
    loss = look(loss, served.position())
    assert loss.expired <= len(served.lost)
    if all_ and "redeliver" not in dict(steps):
        assert loss.expired == len(served.lost)
    if loss.expired and all_:
        assert loss.first_expired_sequence is not None
        assert loss.first_expired_sequence <= min(served.lost)


def test_messages_overtaken_by_limits_are_counted_with_their_range(subtests: pytest.Subtests) -> None:
    for all_, expected in ((True, 14_000), (False, 7_000)):
        with subtests.test("all" if all_ else "filtered"):
            served = Served(takes_all=all_)
            served.publish(2_000)
            served.deliver(2_000)
            served.ack(2_000)
            loss = look(None, served.position())
            served.publish(17_000)
            loss = look(loss, served.position())
            assert (loss.expired, loss.first_expired_sequence) == (0, None)
            served.expire(16_000)
            loss = look(loss, served.position())
            assert loss.expired == expected
            assert (loss.first_expired_sequence or 0, loss.last_expired_sequence) == (served.first - 14_000, 16_000)
            served.deliver(5_000)
            assert look(loss, served.position()).expired == expected


def test_continuous_overrun_of_a_filtered_consumer_is_counted_at_least_in_part() -> None:
    served, loss = Served(takes_all=False), None
    for _ in range(50):
        served.publish(100)
        served.expire(len(served.stored) - 200)
        served.deliver(5)
        loss = look(loss, served.position())
    assert loss is not None
    assert len(served.lost) / 2 < loss.expired <= len(served.lost)


def test_first_look_at_an_old_consumer_counts_what_is_below_the_stream() -> None:
    served = Served()
    served.publish(100)
    served.expire(40)
    served.delete(20)
    assert look(None, served.position()).expired == 40, "gaps between messages may be older than the consumer"


def test_setbacks_begin_a_new_count_and_lose_none(subtests: pytest.Subtests) -> None:
    served = Served(removes_acked=True)
    served.publish(100)
    served.expire(10)
    loss = look(None, served.position())
    assert loss.expired == 10
    served.deliver(50)
    served.ack(50)
    loss = look(loss, served.position())
    at = served.position()
    cases: dict[str, tuple[dict[str, Any], int]] = {
        "reset": ({"delivered": 0, "deliveries": 0, "pending": 40}, 10),
        "killed server forgot deliveries": ({"delivered": 30, "deliveries": 20, "server": "B"}, 10),
        "filter was edited": ({"takes_all": False, "deliveries": 60, "delivered": 90}, 10),
        "another consumer": ({"incarnation": "again", "delivered": 60, "deliveries": 0}, 0),
    }
    for name, (changes, expected) in cases.items():
        with subtests.test(name):
            fields = {each: getattr(at, each) for each in ConsumerPosition.__slots__}
            after = look(loss, ConsumerPosition(**{**fields, **changes}))
            assert after.expired == expected


def test_redelivered_messages_that_are_not_unacknowledged_have_reached_max_deliver() -> None:
    fields = {each: getattr(Served().position(), each) for each in ConsumerPosition.__slots__}
    cases = [(None, 5, 0, 0), (3, 5, 5, 0), (3, 5, 2, 3), (3, 9, 0, 9), (3, 4, 4, 9)]
    loss = None
    for max_deliver, redelivered, unacked, expected in cases:
        counts = {"max_deliver": max_deliver, "redelivered": redelivered, "ack_pending": unacked}
        loss = look(loss, ConsumerPosition(**{**fields, **counts}))
        assert loss.given_up == expected
    _, given_up = loss_verdicts(loss)
    assert (given_up.type, given_up.status) == (ConditionType.MESSAGES_GIVEN_UP, "True")
    assert given_up.message.startswith("At least 9 messages are not delivered any more: maxDeliver 3 was reached")


def test_losses_are_reported_with_the_first_message_and_each_time_they_have_doubled() -> None:
    served, reported = Served(), list[int]()
    loss: MessageLoss | None = None
    for _ in range(33):
        served.publish(1)
        served.expire(1)
        before, loss = loss, look(loss, served.position())
        reported += [loss.expired for _ in loss_notes(before, loss)]
        assert len(new_losses(before, loss)) == 1
    assert reported == [1, 2, 4, 8, 16, 32]
    [note] = new_losses(None, loss)
    assert (note.reason, note.is_warning) == (Reason.MESSAGES_EXPIRED, True)
    assert note.message == (
        "At least 33 messages were removed from the stream before the consumer could deliver them, between sequences "
        "1 and 33. They cannot be recovered. The stream removes messages by maxMessages: 100. Raise the limit, or let "
        "the group process faster."
    )


def test_conditions_are_unknown_before_the_first_look_and_false_without_losses() -> None:
    assert [each.status for each in loss_verdicts(None)] == ["Unknown", "Unknown"]
    assert [each.status for each in loss_verdicts(look(None, Served().position()))] == ["False", "False"]
    assert written_loss({"messageLoss": {"of": "another version"}}) is None


def test_limits_that_remove_messages_are_named_as_in_manifests() -> None:
    limits = {"max_msgs": 3000, "max_bytes": -1, "max_age": 8 * 10**9, "max_msgs_per_subject": 1}
    assert removing_limits(limits) == "maxAge: 8s, maxMessages: 3000, maxMessagesPerSubject: 1"
    assert removing_limits({**limits, "discard": "new", "discard_new_per_subject": True}) == "maxAge: 8s"
    assert removing_limits({}) == ""


def test_consumer_takes_all_if_its_filters_cover_the_subjects_of_the_stream() -> None:
    subjects = {"subjects": ["orders.new.>", "bills.*"]}
    rows: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
        (subjects, {}, True),
        (subjects, {"filter_subject": ">"}, True),
        (subjects, {"filter_subject": "orders.>"}, False),
        (subjects, {"filter_subjects": ["orders.>", "bills.>"]}, True),
        (subjects, {"filter_subjects": ["orders.>", "bills.a"]}, False),
        (subjects, {"deliver_policy": "last_per_subject"}, False),
        ({"mirror": {"name": "ORIGIN"}}, {}, False),
        ({"sources": [{"name": "ORIGIN"}]}, {}, True),
        ({**subjects, "sources": [{"name": "O"}]}, {"filter_subjects": ["orders.>", "bills.>"]}, False),
        ({}, {"filter_subject": "orders.>"}, False),
    ]
    for stream, consumer, expected in rows:
        assert takes_all(stream, consumer) is expected, (stream, consumer)
