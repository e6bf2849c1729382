"""The requests about consumers, each in one place.

Knows subjects, bodies, and what create, update and create-or-update are to the server (C-03). Does not know how
requests are sent, or read what is answered.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from penstock_jetstream.config import CONSUMER
from penstock_jetstream.core.facts import Facts
from penstock_jetstream.core.names import checked_name
from penstock_jetstream.core.requests import Request
from penstock_jetstream.core.subjects import has_wildcards
from penstock_jetstream.core.times import rfc3339
from penstock_jetstream.errors import UsageError

Action = Literal["create", "update", ""]
"""The last is both: make it what the config says, whether it is there or not."""
_PAST: Mapping[Action, str] = {"create": "created", "update": "updated", "": "created or updated"}


def create(stream: str, config: Mapping[str, Any], action: Action, *, pedantic: bool = False) -> Request:
    """Make a consumer what the whole of this config says: what is left out is the server's default."""
    name = _name_of(config)
    config = _sendable(config, action)
    body = {"stream_name": stream, "config": config, "action": action}
    return Request(
        _create_subject(checked_name(stream, "stream"), name, config),
        _PAST[action],
        f"consumer {name} of stream {stream}" if name else f"a consumer of stream {stream}",
        "consumer_create_response",
        {**body, "pedantic": True} if pedantic else body,
    )


def delete(stream: str, name: str) -> Request:
    return _about("DELETE", "deleted", stream, name)


def info(stream: str, name: str) -> Request:
    return _about("INFO", "described", stream, name, repeatable=True)


def names(stream: str, *, offset: int = 0) -> Request:
    return _listing("NAMES", stream, offset)


def infos(stream: str, *, offset: int = 0) -> Request:
    return _listing("LIST", stream, offset)


def pause(stream: str, name: str, until: datetime) -> Request:
    """Stop deliveries until a time; one that has passed resumes them at once (X-16)."""
    return _about("PAUSE", "paused", stream, name, {"pause_until": rfc3339(until)})


def resume(stream: str, name: str) -> Request:
    return _about("PAUSE", "resumed", stream, name)


def reset(stream: str, name: str, *, sequence: int = 0) -> Request:
    """Go back behind the last acknowledged message, or to a sequence (X-14)."""
    return _about("RESET", "reset", stream, name, {"seq": sequence} if sequence else {})


def unpin(stream: str, name: str, group: str) -> Request:
    """Take the pin from the client that has it; the next pull gets it (G-13)."""
    return _about("UNPIN", "unpinned", stream, name, {"group": group})


def step_down(stream: str, name: str, *, preferred: str | None = None) -> Request:
    """Have the replicas elect another leader, a particular one if they can."""
    body = {"placement": {"preferred": preferred}} if preferred else {}
    return _about("LEADER.STEPDOWN", "given another leader", stream, name, body)


def endangers_durability(config: Mapping[str, Any], action: Action) -> bool:
    """Tell whether a consumer that is there and durable would stop to be so: the server takes that for an update (4.2).

    It would be deleted after the server's next start, and its position with it.
    """
    return action != "create" and not config.get("durable_name") and bool(config.get("name"))


def has_filters(stored: Facts, wanted: Mapping[str, Any]) -> bool:
    """Tell whether a consumer has the filters that were asked for: a server that knows none drops them (X-05)."""
    single = stored.text("filter_subject", "")
    filters = {*stored.texts("filter_subjects"), *([single] if single else ())}
    asked = wanted.get("filter_subject")
    return filters == {*(wanted.get("filter_subjects") or ()), *([asked] if asked else ())}


def _create_subject(stream: str, name: str, config: Mapping[str, Any]) -> str:
    """Say in the subject what fits there, as permissions look there: not several filters (10137), nor wildcards."""
    if not name:
        return f"CONSUMER.CREATE.{stream}"
    single = config.get("filter_subject")
    if not isinstance(single, str) or not single or config.get("filter_subjects") or has_wildcards(single):
        return f"CONSUMER.CREATE.{stream}.{name}"
    return f"CONSUMER.CREATE.{stream}.{name}.{single}"


def _sendable(config: Mapping[str, Any], action: Action) -> Mapping[str, Any]:
    """Leave nothing open that is better said, such as ack_policy (V-09)."""
    sendable = CONSUMER.complete(config)
    if action == "update":
        sendable.pop("pause_until", None)  # the server would ignore it: pausing is a request of its own
    return sendable


def _name_of(config: Mapping[str, Any]) -> str:
    durable, name = config.get("durable_name") or "", config.get("name") or ""
    if durable and name and durable != name:
        raise UsageError(
            f"A consumer has the name {name} and the durable_name {durable}.", advice="Give one, or the same twice."
        )
    either = durable or name
    if not isinstance(either, str):
        raise UsageError(f"A consumer's name is {either!r}.", advice="A name is a string.")
    return checked_name(either, "consumer") if either else ""


def _about(
    verb: str,
    operation: str,
    stream: str,
    name: str,
    body: Mapping[str, Any] | None = None,
    *,
    repeatable: bool = False,
) -> Request:
    return Request(
        f"CONSUMER.{verb}.{checked_name(stream, 'stream')}.{checked_name(name, 'consumer')}",
        operation,
        f"consumer {name} of stream {stream}",
        _ANSWERS[verb],
        body or {},
        repeatable,
    )


_ANSWERS = {
    "DELETE": "consumer_delete_response",
    "INFO": "consumer_info_response",
    "PAUSE": "consumer_pause_response",
    "RESET": "consumer_reset_response",
    "UNPIN": "consumer_unpin_response",
    "LEADER.STEPDOWN": "consumer_leader_stepdown_response",
}


def _listing(verb: str, stream: str, offset: int) -> Request:
    return Request(
        f"CONSUMER.{verb}.{checked_name(stream, 'stream')}",
        "listed",
        f"the consumers of stream {stream}",
        f"consumer_{verb.lower()}_response",
        {"offset": offset} if offset else {},
        repeatable=True,
    )
