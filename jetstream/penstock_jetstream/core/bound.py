"""Whether a consumer that exists is what a subscription wants (S-07…S-10). Both sides are named where it is not.

Knows the checks and their order. Does not know how the consumer was found, or what happens next.
"""

from collections.abc import Mapping
from typing import Any

from penstock_jetstream.config import CONSUMER, diff
from penstock_jetstream.core.wanted import Wanted
from penstock_jetstream.errors import ConsumerMismatchError, DuplicateSubscriptionError

_CHECKED_BY_NAME = frozenset({"deliver_subject", "deliver_group", "durable_name", "filter_subject", "name"})
"""Fields with checks of their own, which say more than that they differ."""


def check(wanted: Wanted, info: Mapping[str, Any]) -> None:
    """Raise what keeps the subscription from this consumer, if anything does."""
    existing = info["config"]
    where = {"stream": info.get("stream_name") or wanted.stream, "consumer": info["name"]}
    _check_kind(wanted, existing, where)
    if not wanted.pull:
        _check_group(wanted, existing, where)
        if info.get("push_bound") and not wanted.queue:
            raise DuplicateSubscriptionError(
                f"{_name(where)} has a subscriber already, and hands its messages to one only.",
                **where,
                advice="Read it in one place, give a queue to share it, or another durable for a copy of each message.",
            )
    _check_filter(wanted, existing, where)
    _check_drift(wanted, existing, where)


def _check_kind(wanted: Wanted, existing: Mapping[str, Any], where: Mapping[str, str]) -> None:
    subject = existing.get("deliver_subject")
    if wanted.pull and subject:
        raise ConsumerMismatchError(
            f"{_name(where)} pushes its messages to {subject}; this subscription wants to pull them.",
            **where,
            advice="Use js.subscribe(…), or a durable that has no deliver_subject.",
        )
    if not wanted.pull and not subject:
        raise ConsumerMismatchError(
            f"{_name(where)} is there to be pulled from; this subscription wants to be pushed to.",
            **where,
            advice="Use js.consumer(…).consume(), or a durable that has a deliver_subject.",
        )


def _check_group(wanted: Wanted, existing: Mapping[str, Any], where: Mapping[str, str]) -> None:
    group = existing.get("deliver_group") or ""
    if group == wanted.queue:
        return
    if not wanted.queue:
        sentence, advice = f"belongs to the queue {group}; this subscription names none", f"Give queue={group!r}"
    elif not group:
        sentence, advice = f"belongs to no queue; this subscription names {wanted.queue}", "Leave queue out"
    else:
        sentence = f"belongs to the queue {group}; this subscription names {wanted.queue}"
        advice = f"Give queue={group!r}"
    raise ConsumerMismatchError(f"{_name(where)} {sentence}.", **where, advice=f"{advice}, or use another durable.")


def _check_filter(wanted: Wanted, existing: Mapping[str, Any], where: Mapping[str, str]) -> None:
    filters = [existing["filter_subject"]] if existing.get("filter_subject") else existing.get("filter_subjects") or []
    if not wanted.filter or filters == [wanted.filter]:
        return
    delivers = " and ".join(filters) if filters else "every subject of the stream"
    raise ConsumerMismatchError(
        f"{_name(where)} delivers {delivers}; this subscription asks for {wanted.filter}.",
        **where,
        advice="Ask for the same, give stream=… and no subject to take what it delivers, or use another durable.",
    )


def _check_drift(wanted: Wanted, existing: Mapping[str, Any], where: Mapping[str, str]) -> None:
    """Changes are never applied by a subscription, so one that would need them is refused (S-10)."""
    given = {name: value for name, value in wanted.config.items() if name not in _CHECKED_BY_NAME}
    differences = [
        f"{each.field} is {each.actual!r} there and {each.desired!r} here"
        for each in diff(CONSUMER, given, existing, given_only=True)
    ]
    subject = wanted.config.get("deliver_subject")
    if subject and subject != existing.get("deliver_subject"):
        differences.append(f"deliver_subject is {existing.get('deliver_subject')!r} there and {subject!r} here")
    if differences:
        raise ConsumerMismatchError(
            f"{_name(where)} is configured otherwise, which a subscription does not change: {'; '.join(differences)}.",
            **where,
            advice="Leave these fields out to take the consumer as it is, or change it by js.consumers.update(…).",
        )


def _name(where: Mapping[str, str]) -> str:
    return f"Consumer {where['consumer']} of stream {where['stream']}"
