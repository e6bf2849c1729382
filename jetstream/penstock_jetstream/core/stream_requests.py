"""The requests about streams and the messages in them, each in one place.

Knows subjects, bodies and what has to be said in words. Does not know how requests are sent, or read what is answered.
"""

from collections.abc import Mapping
from typing import Any

from penstock_jetstream.core.names import checked_name
from penstock_jetstream.core.requests import Request
from penstock_jetstream.core.selection import Selection
from penstock_jetstream.errors import UsageError


def create(config: Mapping[str, Any], *, pedantic: bool = False) -> Request:
    """Make a stream that is not there. The server agrees to one that is there and equal."""
    name = name_of(config)
    return Request(
        f"STREAM.CREATE.{name}", "created", _stream(name), "stream_create_response", _config(config, pedantic)
    )


def update(config: Mapping[str, Any], *, pedantic: bool = False) -> Request:
    """Make a stream what the whole of this config says: what is left out goes back to the server's default."""
    name = name_of(config)
    return Request(
        f"STREAM.UPDATE.{name}", "updated", _stream(name), "stream_update_response", _config(config, pedantic)
    )


def delete(name: str) -> Request:
    return Request(f"STREAM.DELETE.{_checked(name)}", "deleted", _stream(name), "stream_delete_response")


def info(name: str, *, subjects: str | None = None, deleted: bool = False, offset: int = 0) -> Request:
    """Ask for a stream's config and state; subjects is a filter: those it matches are listed with their counts."""
    body = {"subjects_filter": subjects, "deleted_details": deleted, "offset": offset}
    return Request(
        f"STREAM.INFO.{_checked(name)}",
        "described",
        _stream(name),
        "stream_info_response",
        _without_empty(body),
        repeatable=True,
    )


def names(*, subject: str | None = None, offset: int = 0) -> Request:
    return _listing("STREAM.NAMES", "stream_names_response", subject, offset)


def infos(*, subject: str | None = None, offset: int = 0) -> Request:
    return _listing("STREAM.LIST", "stream_list_response", subject, offset)


def purge(name: str, *, subject: str | None = None, up_to_sequence: int = 0, keep: int = 0) -> Request:
    """Remove all messages, or those of a subject, or those before a sequence, or all but the last few."""
    if up_to_sequence and keep:
        raise UsageError(
            f"Stream {name} was to be purged up to a sequence and to keep {keep} messages.",
            advice="Give one of the two.",
        )
    body = {"filter": subject, "seq": up_to_sequence, "keep": keep}
    return Request(
        f"STREAM.PURGE.{_checked(name)}", "purged", _stream(name), "stream_purge_response", _without_empty(body)
    )


def get_message(name: str, selection: Selection) -> Request:
    return Request(
        f"STREAM.MSG.GET.{_checked(name)}",
        "found",
        f"{selection.words} of stream {name}",
        "stream_msg_get_response",
        selection.body,
        repeatable=True,
    )


def delete_message(name: str, sequence: int, *, erase: bool = True) -> Request:
    """Remove one message; erasing overwrites its bytes, which takes longer."""
    return Request(
        f"STREAM.MSG.DELETE.{_checked(name)}",
        "deleted",
        f"message {sequence} of stream {name}",
        "stream_msg_delete_response",
        {"seq": sequence} if erase else {"seq": sequence, "no_erase": True},
    )


def step_down(name: str, *, preferred: str | None = None) -> Request:
    """Have the replicas elect another leader, a particular one if they can."""
    return Request(
        f"STREAM.LEADER.STEPDOWN.{_checked(name)}",
        "given another leader",
        _stream(name),
        "stream_leader_stepdown_response",
        _placement(preferred),
    )


def remove_peer(name: str, peer: str) -> Request:
    """Take a server out of a stream's replicas; the cluster finds another."""
    return Request(
        f"STREAM.PEER.REMOVE.{_checked(name)}",
        f"moved off server {peer}",
        _stream(name),
        "stream_remove_peer_response",
        {"peer": peer},
    )


def name_of(config: Mapping[str, Any]) -> str:
    name = config.get("name")
    if not isinstance(name, str):
        raise UsageError("A stream's config has no name.", advice='Add one: {"name": "ORDERS", …}.')
    return _checked(name)


def _listing(subject: str, answer: str, filter_subject: str | None, offset: int) -> Request:
    body = _without_empty({"subject": filter_subject, "offset": offset})
    return Request(subject, "listed", "the streams of the account", answer, body, repeatable=True)


def _config(config: Mapping[str, Any], pedantic: bool) -> Mapping[str, Any]:  # noqa: FBT001 - named at both calls
    return {**config, "pedantic": True} if pedantic else config


def _placement(preferred: str | None) -> Mapping[str, Any]:
    return {"placement": {"preferred": preferred}} if preferred else {}


def _without_empty(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in body.items() if value}


def _checked(name: str) -> str:
    return checked_name(name, "stream")


def _stream(name: str) -> str:
    return f"stream {name}"
