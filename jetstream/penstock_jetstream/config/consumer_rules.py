"""What goes together in a consumer, and what does not.

Knows the rules of the server that concern several fields; and those of the protocol that the server does not hold,
although clients count on them. Does not know the fields themselves (consumer_fields.py).
"""

import re
from collections.abc import Iterator, Sequence
from typing import cast

from penstock_jetstream.config.facts import Facts
from penstock_jetstream.config.problem import Problem, warning
from penstock_jetstream.config.shared_rules import judge_metadata, judge_name
from penstock_jetstream.config.subjects import is_literal, is_subject, is_within, nested_pair, overlap
from penstock_jetstream.config.table import Rule
from penstock_jetstream.config.typed import ConsumerConfig, StreamConfig
from penstock_jetstream.config.values import SECOND, shown_duration

FLOW_CONTROL_HEARTBEAT = SECOND
SHORTEST_EXPIRES = SECOND
"""What `consume` asks for at least (C-23)."""

_GROUP = re.compile(r"[A-Za-z0-9/_=-]{1,16}")
_OF_PUSH = ("deliver_group", "idle_heartbeat", "flow_control", "rate_limit_bps")
_OF_PULL = ("max_waiting", "max_batch", "max_expires", "max_bytes")
_STARTS = {"by_start_sequence": "opt_start_seq", "by_start_time": "opt_start_time"}


def _stream(facts: Facts) -> StreamConfig:
    return cast("StreamConfig", facts.stream or {})


def _identity(config: ConsumerConfig, _: Facts) -> Iterator[Problem]:
    name, durable = config.get("name") or "", config.get("durable_name") or ""
    for field, text in (("name", name), ("durable_name", durable)):
        if text:
            yield from judge_name(field, text)
    if name and durable and name != durable:
        yield Problem("durable_name", f"It is not the name {name!r}.", "Give durable_name alone, or both alike.")
    if name and not durable and not config.get("inactive_threshold"):
        yield warning(
            "name",
            "Without durable_name the server deletes the consumer when nobody uses it for 5 s.",
            "Give durable_name, or an inactive_threshold.",
        )
    yield from judge_metadata(config.get("metadata") or {})


def _start(config: ConsumerConfig, _: Facts) -> Iterator[Problem]:
    policy = config.get("deliver_policy") or "all"
    wanted = _STARTS.get(policy)
    if wanted and not config.get(wanted):
        yield Problem(wanted, f"It is missing: deliver_policy is {policy}.", "Give it, or choose another policy.")
    for field in _STARTS.values():
        if field != wanted and config.get(field):
            yield Problem(
                field, f"deliver_policy is {policy}.", "Leave it out, or choose the policy that it belongs to."
            )
    if policy == "last_per_subject" and not _filters(config):
        yield Problem("deliver_policy", "last_per_subject needs a filter.", "Give filter_subject; > is all subjects.")


def _filters(config: ConsumerConfig) -> list[str]:
    one = config.get("filter_subject")
    return [one] if one else list(config.get("filter_subjects") or ())


def _filter(config: ConsumerConfig, facts: Facts) -> Iterator[Problem]:
    if config.get("filter_subject") and config.get("filter_subjects"):
        yield Problem("filter_subjects", "It stands beside filter_subject.", "Give one of them.")
    filters = _filters(config)
    for subject in filters:
        if not is_subject(subject):
            yield Problem("filter_subjects", f"{subject!r} is no subject.", "Use tokens with dots between them.")
    pair = nested_pair([subject for subject in filters if is_subject(subject)])
    if pair:
        yield Problem("filter_subjects", f"{pair[1]!r} includes {pair[0]!r}.", f"Leave {pair[0]!r} out.")
    subjects = _stream(facts).get("subjects") or []
    if subjects and not _stream(facts).get("subject_transform"):
        yield from _fruitless(filters, subjects)


def _fruitless(filters: Sequence[str], subjects: Sequence[str]) -> Iterator[Problem]:
    for subject in filters:
        if not any(overlap(subject, taken) for taken in subjects):
            yield warning("filter_subject", f"The stream takes no message that {subject!r} matches.", "Is it misspelt?")


def _acknowledgement(config: ConsumerConfig, facts: Facts) -> Iterator[Problem]:
    if facts.max_ack_pending and (config.get("max_ack_pending") or 0) > facts.max_ack_pending:
        yield Problem("max_ack_pending", f"Server and account allow {facts.max_ack_pending} at most.")


def _redelivery(config: ConsumerConfig, _: Facts) -> Iterator[Problem]:
    backoff, deliveries = config.get("backoff") or [], config.get("max_deliver") or -1
    if 0 < deliveries < len(backoff):
        yield Problem(
            "max_deliver", f"It is less than the {len(backoff)} steps of backoff.", "Raise it, or say -1 for no limit."
        )
    wait = config.get("ack_wait")
    if backoff and wait and wait != backoff[0]:
        yield warning(
            "ack_wait",
            f"The first step of backoff ({shown_duration(backoff[0])}) takes its place.",
            "Leave it out, or begin backoff with it.",
        )


def _flow_control_policy(config: ConsumerConfig, _: Facts) -> Iterator[Problem]:
    """Judge what copying between streams needs (X-15)."""
    if config.get("ack_policy") != "flow_control":
        return
    if not config.get("deliver_subject"):
        yield Problem("ack_policy", "flow_control is for push consumers.", "Give a deliver_subject, or say explicit.")
    if config.get("flow_control") is False:
        yield Problem("flow_control", "ack_policy flow_control needs it.", "Leave it out, or set it.")
    if config.get("idle_heartbeat") not in (None, 0, FLOW_CONTROL_HEARTBEAT):
        yield Problem("idle_heartbeat", "With ack_policy flow_control it is 1 s.", "Leave it out.")
    if (config.get("max_ack_pending") or 0) < 0:
        yield Problem("max_ack_pending", "With ack_policy flow_control it has a limit.", "Leave it out, or set it.")
    for field in ("ack_wait", "backoff"):
        if config.get(field):
            yield Problem(field, "With ack_policy flow_control nothing is delivered again.", "Leave it out.")
    if (config.get("max_deliver") or -1) > 0:
        yield Problem("max_deliver", "With ack_policy flow_control nothing is delivered again.", "Leave it out.")


def _push(config: ConsumerConfig, facts: Facts) -> Iterator[Problem]:
    subject = config.get("deliver_subject")
    if not subject:
        return
    if not is_literal(subject):
        yield Problem("deliver_subject", f"{subject!r} is no subject without wildcards.")
    elif any(is_within(subject, taken) for taken in _stream(facts).get("subjects") or []):
        yield Problem("deliver_subject", "The stream itself takes it: that would never end.", "Choose another.")
    if config.get("max_waiting"):
        yield Problem("max_waiting", "It counts pull requests.", "Leave it out, or leave deliver_subject out.")
    for field in [field for field in _OF_PULL[1:] if config.get(field)]:
        yield warning(field, "It has no effect: the consumer pushes.", "Leave it out.")
    if config.get("ack_policy") in (None, "none") and (config.get("max_ack_pending") or 0) > 0:
        yield Problem("max_ack_pending", "Nothing is acknowledged.", "Leave it out, or set ack_policy.")
    if config.get("flow_control") and not config.get("idle_heartbeat") and config.get("ack_policy") != "flow_control":
        yield Problem("flow_control", "It needs idle_heartbeat.", "Set idle_heartbeat too, such as 5 s.")
    if config.get("deliver_group") and (config.get("idle_heartbeat") or config.get("flow_control")):
        yield warning(
            "deliver_group",
            "Heartbeats and flow control reach one subscriber of a group, not all: clients refuse to subscribe.",
            "Leave one of them out; or pull.",
        )


def _pull(config: ConsumerConfig, facts: Facts) -> Iterator[Problem]:
    if config.get("deliver_subject"):
        return
    if config.get("ack_policy") != "flow_control":
        for field in [field for field in _OF_PUSH[1:] if config.get(field)]:
            yield Problem(field, "It is for push consumers.", "Leave it out, or give a deliver_subject.")
    if config.get("deliver_group"):
        yield warning("deliver_group", "It has no effect: clients that pull share by pulling.", "Leave it out.")
    if facts.max_batch and (config.get("max_batch") or 0) > facts.max_batch:
        yield Problem("max_batch", f"The server allows {facts.max_batch} at most.")
    expires = config.get("max_expires") or 0
    if 0 < expires < SHORTEST_EXPIRES:
        yield warning(
            "max_expires", "Clients that consume ask for 1 s at least, and would be refused.", "Use 1 s or more."
        )


def _priorities(config: ConsumerConfig, _: Facts) -> Iterator[Problem]:
    """Judge what ADR-42 wants; the server itself accepts several groups and any ack policy (G-04)."""
    policy, groups = config.get("priority_policy") or "none", config.get("priority_groups") or []
    if config.get("priority_timeout") and policy != "pinned_client":
        yield Problem("priority_timeout", f"priority_policy is {policy}.", "It goes with pinned_client only.")
    if policy == "none":
        if groups:
            yield Problem("priority_groups", "priority_policy is none.", "Set a policy, or leave the group out.")
        return
    if len(groups) != 1:
        yield Problem("priority_groups", f"A policy needs one group, not {len(groups)}.", "Name one, such as workers.")
    for group in groups:
        if not _GROUP.fullmatch(group):
            yield Problem("priority_groups", f"{group!r} is no group.", "Use 1 to 16 letters, digits, or - _ / =.")
    if config.get("deliver_subject"):
        yield Problem("priority_policy", "Priorities are for pull consumers.", "Leave deliver_subject out.")
    if config.get("ack_policy") != "explicit":
        yield Problem("ack_policy", "Priorities need explicit.", "Set ack_policy to explicit.")


def _work_queue(config: ConsumerConfig, facts: Facts) -> Iterator[Problem]:
    if _stream(facts).get("retention") != "workqueue":
        return
    if config.get("ack_policy") not in ("explicit", "flow_control"):
        yield Problem("ack_policy", "The stream is a work queue: what is acked is deleted.", "Set it to explicit.")
    if config.get("deliver_policy") not in (None, "all"):
        yield Problem("deliver_policy", "The stream is a work queue, read from its beginning.", "Set it to all.")


def _replicas(config: ConsumerConfig, facts: Facts) -> Iterator[Problem]:
    replicas, streams = config.get("num_replicas") or 0, _stream(facts).get("num_replicas")
    if not replicas:
        return
    if replicas > 1 and facts.clustered is False:
        yield Problem("num_replicas", "One server alone keeps one replica.", "Leave it out, or use a cluster.")
    if streams and replicas > streams:
        yield Problem("num_replicas", f"The stream has {streams}.", "Leave it out, or use at most that.")
    elif streams and replicas != streams and _stream(facts).get("retention") in ("interest", "workqueue"):
        yield Problem("num_replicas", f"With this retention it must be the stream's {streams}.", "Leave it out.")


def _stream_limits(config: ConsumerConfig, facts: Facts) -> Iterator[Problem]:
    limits = _stream(facts).get("consumer_limits") or {}
    most, pending = limits.get("max_ack_pending") or 0, config.get("max_ack_pending") or 0
    if 0 < most < pending:
        yield Problem(
            "max_ack_pending", f"The stream's consumer_limits allow {most}.", "Lower one, or raise the other."
        )
    longest, threshold = limits.get("inactive_threshold") or 0, config.get("inactive_threshold") or 0
    if 0 < longest < threshold:
        yield Problem(
            "inactive_threshold",
            f"The stream's consumer_limits allow {shown_duration(longest)}.",
            "Lower one, or raise the other.",
        )


CONSUMER_RULES: tuple[Rule, ...] = (
    _identity,
    _start,
    _filter,
    _acknowledgement,
    _redelivery,
    _flow_control_policy,
    _push,
    _pull,
    _priorities,
    _work_queue,
    _replicas,
    _stream_limits,
)
