"""What a caller may say of an ordered consumer, and the consumer that is made of it (ADR-17, on pull consumers).

Knows which fields are the library's own (O-03, O-04, O-05) and from where each of its consumers starts. Does not know
when one is made.

ADR-17 was written for consumers that push. On one that is pulled from, what flow control and idle heartbeats were for
is in each request. Its ack wait (22 h, there) has no meaning where nothing is acknowledged, and is not sent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock_jetstream.errors import UsageError

INACTIVE_THRESHOLD_NS = 300_000_000_000
"""A consumer that nobody asks for so long is deleted by the server: should ours get lost, it does not stay for ever."""
HEARTBEAT_SECONDS = 5.0
"""At most; where requests expire in less than twice of it, half of that."""

START_FIELDS = ("deliver_policy", "opt_start_seq", "opt_start_time", "filter_subject", "filter_subjects")
OWN_VALUES: Mapping[str, Any] = {
    "ack_policy": "none",
    "max_deliver": 1,
    "mem_storage": True,
    "num_replicas": 1,
}
"""Forced (O-05)."""
NEVER: Mapping[str, str] = {
    "ack_wait": "nothing is acknowledged",
    "backoff": "nothing is acknowledged",
    "deliver_group": "an order cannot be shared",
    "deliver_subject": "it is pulled from",
    "durable_name": "a new consumer takes its place whenever something gets lost",
    "flow_control": "it is pulled from, and asks for no more than it can take",
    "idle_heartbeat": "it is pulled from: give heartbeat_seconds",
    "max_ack_pending": "nothing is acknowledged",
    "name": "a new consumer takes its place whenever something gets lost: give name_prefix",
    "num_replicas": "it lives in the memory of one server, as a new one is made where it is lost",
    "priority_groups": "an order cannot be shared",
    "priority_policy": "an order cannot be shared",
}
"""What cannot be given at all (O-03, O-04), and why."""
ONLY: Mapping[str, Any] = {"ack_policy": "none", "max_deliver": 1, "mem_storage": True}
"""What may be given, but with this value only (O-04)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedOptions:
    stream: str
    filter_subjects: Sequence[str] = ()
    deliver_policy: str = "all"
    opt_start_seq: int | None = None
    opt_start_time: str | None = None
    name_prefix: str
    config: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the consumer, such as headers_only, replay_policy or metadata."""

    def __post_init__(self) -> None:
        for name, why in NEVER.items():
            if name in self.config:
                raise _refused(f"{name} cannot be given", why)
        for name, value in ONLY.items():
            if self.config.get(name, value) != value:
                raise _refused(f"{name} can only be {value!r}", "what gets lost is read again by a new consumer")
        for name in START_FIELDS:
            if name in self.config:
                raise _refused(f"{name} has an argument of its own", "the library changes it when it starts anew")


@dataclass(frozen=True, slots=True)
class Start:
    """From where a consumer delivers: what the caller said, or where we stand."""

    policy: str
    sequence: int | None = None
    time: str | None = None


def first_start(options: OrderedOptions) -> Start:
    return Start(options.deliver_policy, options.opt_start_seq, options.opt_start_time)


def consumer_config(options: OrderedOptions, name: str, start: Start) -> dict[str, Any]:
    config: dict[str, Any] = {
        "inactive_threshold": INACTIVE_THRESHOLD_NS,
        **options.config,
        **OWN_VALUES,
        "name": name,
        "deliver_policy": start.policy,
    }
    if start.sequence is not None:
        config["opt_start_seq"] = start.sequence
    if start.time is not None:
        config["opt_start_time"] = start.time
    return {**config, **_filters(options.filter_subjects)}


def heartbeat_seconds(expires_seconds: float) -> float:
    return min(HEARTBEAT_SECONDS, expires_seconds / 2)


def _filters(subjects: Sequence[str]) -> dict[str, Any]:
    if len(subjects) == 1:
        return {"filter_subject": subjects[0]}
    return {"filter_subjects": list(subjects)} if subjects else {}


def _refused(what: str, why: str) -> UsageError:
    return UsageError(f"Of an ordered consumer, {what}: {why}.", advice="Leave it out.")
