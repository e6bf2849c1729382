"""Counts messages that a consumer never processed, from one look at the server to the next.

Pure. A server says nothing about messages that it removes before they were delivered, so they are found by arithmetic.
All counts are lower bounds, and never come down while stream and consumer stay the same.

A consumer that takes each message of its stream: between two looks its position advances by the messages that were
delivered for the first time and by those that were gone. Each delivery is counted by the server, so the advance minus
the deliveries is the number of messages that were gone; a redelivery in between hides one. Both numbers come from one
answer, so messages that arrive in between cannot distort the count. Ahead of the position, sequences below the stream's
first one are gone.

A consumer with a filter skips messages of others, so sequences say nothing about its own. Of the messages that were
pending at an earlier look, those that are no longer pending were delivered or are gone; new ones hide as many.

The server keeps how often a message was redelivered until that message is acknowledged or removed. Messages that are
redelivered and no longer unacknowledged have reached maxDeliver.

The position is kept in the status, so a restart forgets nothing. Advisories are not used: no stream stores them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from penstock_jetstream.config.subjects import EVERYTHING, is_within
from penstock_operator.plan.decision import ConditionType, Note, Verdict
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.verdicts import FALSE, TRUE, UNKNOWN
from penstock_operator.resources.message_loss import MessageLoss
from penstock_operator.resources.wording import spec_field, spec_value

MESSAGE_LOSS = "messageLoss"
"""The field of a QueueGroup's status."""
NO_LIMIT = "No limit of the stream removes messages: they were purged or deleted, or had a TTL of their own."


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerPosition:
    """A stream and one of its consumers at one moment. The stream was read before the consumer, never after it."""

    incarnation: str
    """When both were created."""
    server: str
    """The id of the server that was asked, which is another one after a restart."""
    removes_acked: bool
    """Whether the stream removes what was acknowledged."""
    first: int
    last: int
    deleted: int
    """Gaps between the first and the last sequence."""
    takes_all: bool
    """Whether each message of the stream is for this consumer."""
    limits: str
    """The limits of the stream that remove messages."""
    max_deliver: int | None
    delivered: int
    """The last sequence that was delivered or skipped."""
    deliveries: int
    pending: int
    ack_pending: int
    redelivered: int
    is_paused: bool = False

    @property
    def gap(self) -> int:
        """Sequences that are next for the consumer, and below the stream's first one."""
        return max(0, self.first - 1 - self.delivered)

    @property
    def holes(self) -> int:
        """Sequences above these without a message. With replicas, a server may not have counted the newest messages."""
        ahead = self.last - max(self.delivered, self.first - 1)
        return max(0, min(self.deleted, ahead - self.pending))


def count_losses(before: MessageLoss | None, now: ConsumerPosition) -> MessageLoss:
    """Return what is known after this look."""
    if before is None or before.incarnation != now.incarnation:
        return _given_up(_first_look(now), now)
    was_set_back = now.delivered < before.delivered_sequence or now.deliveries < before.deliveries
    # A server that was killed may have forgotten deliveries of messages that it removed when they were acknowledged.
    may_have_forgotten = now.removes_acked and before.server != now.server
    if was_set_back or may_have_forgotten or before.takes_all != now.takes_all:
        return _given_up(_again_from(before, now, known_gaps=now.gap + now.holes), now)
    return _given_up(_taking_all(before, now) if now.takes_all else _filtered(before, now), now)


def _first_look(now: ConsumerPosition) -> MessageLoss:
    """Begin to count. Gaps between messages may be older than the consumer; below the first sequence they cannot be."""
    start = MessageLoss.model_validate(
        {
            **dict.fromkeys(("expired", "given_up", "skipped"), 0),
            "incarnation": now.incarnation,
            "takes_all": now.takes_all,
            "known_gaps": now.holes,
            "limits": now.limits,
            **_position(now),
        },
        by_name=True,
    )
    return _expired(start, now, now.gap) if now.takes_all else start


def _again_from(before: MessageLoss, now: ConsumerPosition, *, known_gaps: int) -> MessageLoss:
    """Count from here on, in addition to what was counted before."""
    fields = {"takes_all": now.takes_all, "known_gaps": known_gaps, "skipped": before.expired, "last_sequence": None}
    return before.model_copy(update={**_position(now), **fields})


def _taking_all(before: MessageLoss, now: ConsumerPosition) -> MessageLoss:
    advance = now.delivered - before.delivered_sequence
    skipped = before.skipped + max(0, advance - (now.deliveries - before.deliveries))
    found = _expired(before, now, skipped + now.gap - before.known_gaps)
    return found.model_copy(update={**_position(now), "skipped": skipped})


def _filtered(before: MessageLoss, now: ConsumerPosition) -> MessageLoss:
    """Compare with an earlier look, until none of the messages that were pending then can still be there."""
    delivered = now.deliveries - before.deliveries
    is_over = before.last_sequence is not None and now.first > before.last_sequence
    gone = before.pending - delivered - (0 if is_over else now.pending)
    most = now.first - 1 - before.delivered_sequence
    found = _expired(before, now, before.skipped + max(0, min(gone, most)))
    if is_over or delivered >= before.pending:
        return _again_from(found, now, known_gaps=0)
    # All that was pending at the earlier look was stored before this one.
    return found.model_copy(update={"last_sequence": before.last_sequence or now.last})


def _expired(before: MessageLoss, now: ConsumerPosition, expired: int) -> MessageLoss:
    """Take in a new count, if it is larger."""
    if expired <= before.expired:
        return before
    return before.model_copy(
        update={
            "expired": expired,
            "first_expired_sequence": before.first_expired_sequence or before.delivered_sequence + 1,
            "last_expired_sequence": max(now.first - 1, now.delivered),
            "limits": now.limits,
        }
    )


def _given_up(before: MessageLoss, now: ConsumerPosition) -> MessageLoss:
    given_up = max(0, now.redelivered - now.ack_pending) if now.max_deliver else 0
    return before.model_copy(
        update={"given_up": max(before.given_up, given_up), "max_deliver": now.max_deliver or before.max_deliver}
    )


def _position(now: ConsumerPosition) -> dict[str, Any]:
    return {
        "server": now.server,
        "delivered_sequence": now.delivered,
        "deliveries": now.deliveries,
        "pending": now.pending,
    }


def takes_all(stream: Mapping[str, Any], consumer: Mapping[str, Any]) -> bool:
    """Tell whether each sequence of a stream is a message for the consumer, by the configurations of both."""
    if stream.get("mirror") or consumer.get("deliver_policy") == "last_per_subject":
        return False  # a mirror has gaps where its origin has them
    filters = consumer.get("filter_subjects") or [consumer.get("filter_subject") or EVERYTHING]
    if EVERYTHING in filters:
        return True
    if stream.get("sources") or stream.get("subject_transform"):
        return False  # subjects that the configuration of the stream doesn't list
    return all(any(is_within(subject, each) for each in filters) for subject in stream.get("subjects") or (EVERYTHING,))


def removing_limits(config: Mapping[str, Any]) -> str:
    """Return the limits of a stream that remove messages, as a manifest has them."""
    found = ["max_age"]
    if config.get("discard", "old") == "old":
        found = ["max_msgs", "max_bytes", *found]
    if not config.get("discard_new_per_subject"):
        found.append("max_msgs_per_subject")
    limits = [(name, config[name]) for name in sorted(found) if int(config.get(name) or 0) > 0]
    return ", ".join(f"{spec_field('Stream', name)}: {spec_value('Stream', name, value)}" for name, value in limits)


def loss_verdicts(loss: MessageLoss | None) -> tuple[Verdict, Verdict]:
    """Return the conditions that tell of lost messages."""
    expired, given_up = ConditionType.MESSAGES_EXPIRED, ConditionType.MESSAGES_GIVEN_UP
    if loss is None:
        unknown = "Stream and consumer have not been read yet."
        return (
            Verdict(expired, UNKNOWN, Reason.STARTING, unknown),
            Verdict(given_up, UNKNOWN, Reason.STARTING, unknown),
        )
    return (
        Verdict(expired, TRUE, Reason.MESSAGES_EXPIRED, expired_sentence(loss))
        if loss.expired
        else Verdict(expired, FALSE, Reason.NOTHING_LOST, "No message is known to have left the stream undelivered."),
        Verdict(given_up, TRUE, Reason.MESSAGES_GIVEN_UP, given_up_sentence(loss))
        if loss.given_up
        else Verdict(given_up, FALSE, Reason.NOTHING_LOST, "No message is known to have reached maxDeliver."),
    )


def expired_sentence(loss: MessageLoss) -> str:
    """Say how many messages were removed before they were delivered, which, why, and what to do."""
    removed = "1 message was" if loss.expired == 1 else f"{loss.expired:,} messages were"
    first, last = loss.first_expired_sequence, loss.last_expired_sequence
    limits = f"The stream removes messages by {loss.limits}." if loss.limits else NO_LIMIT
    cure = " Raise the limit, or let the group process faster." if loss.limits else ""
    return (
        f"At least {removed} removed from the stream before the consumer could deliver them, between sequences "
        f"{first} and {last}. They cannot be recovered. {limits}{cure}"
    )


def given_up_sentence(loss: MessageLoss) -> str:
    """Say how many messages the server gave up, why, and what to do."""
    messages = "1 message is" if loss.given_up == 1 else f"{loss.given_up:,} messages are"
    return (
        f"At least {messages} not delivered any more: maxDeliver {loss.max_deliver} was reached without an "
        "acknowledgement. They stay in the stream for as long as it keeps them. Remove maxDeliver from the Consumer: "
        "messages that fail become dead letters without it."
    )


def lost(loss: MessageLoss | None) -> int:
    """Return how many messages are known to be lost."""
    return loss.expired + loss.given_up if loss else 0


def written_loss(status: Mapping[str, Any]) -> MessageLoss | None:
    """Return what a status says; None if it says nothing, or what another version of Penstock wrote."""
    try:
        return MessageLoss.read(status[MESSAGE_LOSS])
    except (KeyError, ValidationError):
        return None


def as_written(loss: MessageLoss | None) -> dict[str, Any] | None:
    """Return it as it stands in a status."""
    return loss.model_dump(mode="json", by_alias=True, exclude_none=True) if loss else None


def loss_notes(before: MessageLoss | None, now: MessageLoss | None) -> list[Note]:
    """Return the events for what was lost since: the first message, and each doubling of the count."""
    return [note for note, former, count in _growth(before, now) if count.bit_length() > former.bit_length()]


def new_losses(before: MessageLoss | None, now: MessageLoss | None) -> list[Note]:
    """Return what was lost since."""
    return [note for note, former, count in _growth(before, now) if count > former]


def _growth(before: MessageLoss | None, now: MessageLoss | None) -> Iterator[tuple[Note, int, int]]:
    """Yield each kind of loss with its count before and now."""
    if now is None:
        return
    former = before if before and before.incarnation == now.incarnation else None
    expired = Note(Reason.MESSAGES_EXPIRED, expired_sentence(now), is_warning=True)
    yield expired, former.expired if former else 0, now.expired
    given_up = Note(Reason.MESSAGES_GIVEN_UP, given_up_sentence(now), is_warning=True)
    yield given_up, former.given_up if former else 0, now.given_up
