"""What a caller asks of a subscription, whether that can be at all, and the consumer that is made of it.

Knows the rules that hold whatever the server has (S-01, S-02, S-03, S-31). Does not know what there is: bound.py does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock_jetstream.errors import UsageError

HEARTBEAT_NS = 5_000_000_000
"""Of consumers that are made here and have one reader, unless the caller gives another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the caller asks for. Empty is: not said."""

    subject: str = ""
    stream: str = ""
    durable: str = ""
    bind: str = ""
    """A consumer that must exist."""
    queue: str = ""
    pull: bool = False
    config: Mapping[str, Any] = field(default_factory=dict)
    keep: bool = False
    """Leave the consumer there at the end, even if it was made here."""

    @property
    def consumer(self) -> str:
        """Its name, where it has one that others can know. A queue without one gives its own (S-06)."""
        named = self.config.get("durable_name") or self.config.get("name") or ""
        return self.bind or self.durable or named or self.queue

    @property
    def filter(self) -> str:
        return self.subject or self.config.get("filter_subject") or ""


def check_request(wanted: Wanted) -> None:
    """Refuse what cannot be, whatever the server has (S-01, S-02, S-03, S-31)."""
    config = wanted.config
    if not wanted.stream and not wanted.filter:
        raise UsageError(
            "A subscription needs a subject, or a stream.", advice="Give the subject, or stream=… to read all of it."
        )
    _check_names(wanted)
    if wanted.pull:
        _check_pull(wanted)
    elif wanted.queue:
        _check_queue(wanted)
    if wanted.subject and (config.get("filter_subjects") or config.get("filter_subject") not in (None, wanted.subject)):
        raise UsageError(
            f"The subject {wanted.subject} and the filters of config contradict each other.",
            advice="Give the one subject, or stream=… and the filters.",
        )
    if config.get("flow_control") and config.get("idle_heartbeat") == 0:
        raise UsageError(
            "flow_control does not work without idle_heartbeat: what gets lost would stall it for ever.",
            advice="Leave idle_heartbeat out, or give some seconds (in nanoseconds).",
        )


def _check_names(wanted: Wanted) -> None:
    if wanted.bind and wanted.durable:
        raise UsageError(
            f"bind={wanted.bind!r} says that the consumer exists, durable={wanted.durable!r} that it may be made.",
            advice="Give one of them.",
        )
    named = wanted.config.get("durable_name", wanted.config.get("name", wanted.consumer))
    if named != wanted.consumer:
        raise UsageError(
            f"The consumer is called {wanted.consumer} by the call, and {named} by config.", advice="Name it once."
        )


def _check_pull(wanted: Wanted) -> None:
    if wanted.config.get("ack_policy", "explicit") != "explicit":
        raise UsageError(
            f"A pull subscription acknowledges each message, which ack_policy {wanted.config['ack_policy']} does not.",
            advice="Leave ack_policy out. Without acks, js.ordered(…) reads a stream, each message once and in order.",
        )
    given = sorted({"deliver_subject", "deliver_group"} & set(wanted.config))
    if given or wanted.queue:
        raise UsageError(
            f"{given[0] if given else 'queue'} is for consumers that push; this subscription pulls.",
            advice="Several that pull from one durable share its messages without any more ado.",
        )


def _check_queue(wanted: Wanted) -> None:
    given = [name for name in ("idle_heartbeat", "flow_control") if wanted.config.get(name)]
    if given:
        raise UsageError(
            f"{given[0]} cannot be had with the queue {wanted.queue}: each of its members would see only some of them.",
            advice="Leave it out, or pull: any number can pull from one durable consumer.",
        )
    if wanted.config.get("deliver_group", wanted.queue) != wanted.queue:
        raise UsageError(
            f"The queue is {wanted.queue} by the call, and {wanted.config['deliver_group']} by config.",
            advice="Leave deliver_group out of config.",
        )


def new_config(wanted: Wanted, *, inbox: str) -> dict[str, Any]:
    """Return the configuration of the consumer that is made: what the caller gave, and what makes it work."""
    config = {"ack_policy": "explicit", **wanted.config}
    if wanted.durable or wanted.queue:
        config.setdefault("durable_name", wanted.consumer)
    if wanted.subject:
        config["filter_subject"] = wanted.subject
    if wanted.pull:
        return config
    config.setdefault("deliver_subject", inbox)
    if wanted.queue:
        config["deliver_group"] = wanted.queue
    else:
        config.setdefault("flow_control", config.get("idle_heartbeat") != 0)
        config.setdefault("idle_heartbeat", HEARTBEAT_NS)
    return config
