"""Key-value buckets: what a bucket is as a stream, and what an entry is as a message (ADR-8).

Knows names, headers and config that other NATS clients use too, so that a bucket is shared with them. Does not know how
anything is read or written.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypedDict

from penstock_jetstream.config.names import MAX_NAME_BYTES
from penstock_jetstream.core.headers import Headers
from penstock_jetstream.core.stored_message import StoredMessage
from penstock_jetstream.core.times import whole_nanoseconds
from penstock_jetstream.errors import UsageError

Operation = Literal["put", "delete", "purge"]

MAX_HISTORY = 64
_STREAM_PREFIX = "KV_"
_DUPLICATE_WINDOW_SECONDS = 120
_BUCKET = re.compile(r"[A-Za-z0-9_-]+")
_TOKEN = r"[-/_=A-Za-z0-9]+"  # noqa: S105 - of a subject
_KEY = re.compile(rf"{_TOKEN}(\.{_TOKEN})*")
_FILTER = re.compile(rf"(>|({_TOKEN}|\*)(\.({_TOKEN}|\*))*(\.>)?)")

DELETE_HEADERS = {"KV-Operation": "DEL"}
PURGE_HEADERS = {"KV-Operation": "PURGE", "Nats-Rollup": "sub"}
_OPERATIONS: Mapping[str, Operation] = {"DEL": "delete", "PURGE": "purge"}
_REASONS: Mapping[str, Operation] = {"MaxAge": "purge", "Purge": "purge", "Remove": "delete"}
"""What the server says when it sets a mark itself, as a key's value was too old or was removed."""


class BucketOptions(TypedDict, total=False):
    """How a bucket is made. What is not given is the safe and usual thing."""

    description: str
    history: int
    """How many values of a key are kept, 1 to 64."""
    ttl_seconds: float
    """How long values are kept; 0 is for ever."""
    limit_marker_ttl_seconds: float
    """How long the mark stays that the server sets where a key has run out; watchers see it."""
    max_bytes: int
    max_value_bytes: int
    storage: Literal["file", "memory"]
    replicas: int
    compression: bool
    placement: Mapping[str, Any]
    republish: Mapping[str, Any]
    metadata: Mapping[str, str]


class WatchOptions(TypedDict, total=False):
    """What of keys is watched. Usually it begins with the last entry of each."""

    include_history: bool
    """Begin with all entries of each."""
    updates_only: bool
    """Begin with what comes now."""
    from_revision: int
    """Begin with this revision, or the next there is."""
    ignore_deletes: bool
    """Leave out the marks of what was removed."""
    headers_only: bool
    """Leave out the values."""


class OrderedOptions(TypedDict, total=False):
    """How the messages behind a watch are read."""

    deliver_policy: str
    opt_start_seq: int
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A key at one revision."""

    bucket: str
    key: str
    value: bytes
    revision: int
    created: datetime
    operation: Operation
    """A put has a value. A delete or a purge is a mark that there is none any more."""
    delta: int = 0
    """How many more entries were waiting when this one was sent, where it was watched."""

    @property
    def is_value(self) -> bool:
        return self.operation == "put"


def stream_of(bucket: str) -> str:
    if not _BUCKET.fullmatch(bucket) or len(bucket) > MAX_NAME_BYTES - len(_STREAM_PREFIX):
        raise UsageError(f"{bucket[:80]!r} cannot be the name of a bucket.", advice="Use letters, digits, - and _.")
    return _STREAM_PREFIX + bucket


def bucket_of(stream: str) -> str | None:
    """Return the bucket that a stream is, if it is one."""
    return stream.removeprefix(_STREAM_PREFIX) if stream.startswith(_STREAM_PREFIX) else None


def subject_prefix(bucket: str) -> str:
    return f"$KV.{bucket}."


def checked_key(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise UsageError(
            f"{key[:80]!r} cannot be a key.", advice="Use letters, digits, and any of -/_= in tokens separated by dots."
        )
    return key


def checked_filter(keys: str) -> str:
    """Return a key, or a pattern of keys: * is any token, > all that follow."""
    if not _FILTER.fullmatch(keys):
        raise UsageError(f"{keys[:80]!r} matches no keys.", advice="Give a key, or use * and > as in subjects.")
    return keys


def stream_config(bucket: str, options: BucketOptions) -> dict[str, Any]:
    """Return the config of the stream that is the bucket."""
    stream = stream_of(bucket)
    given: Mapping[str, Any] = options
    if unknown := given.keys() - BucketOptions.__annotations__.keys():
        raise UsageError(f"Bucket {bucket} has unknown options: {', '.join(sorted(unknown))}.")
    history, ttl_seconds = options.get("history", 1), options.get("ttl_seconds", 0)
    if not 1 <= history <= MAX_HISTORY:
        raise UsageError(f"Bucket {bucket} has a history of {history}.", advice=f"Give 1 to {MAX_HISTORY}.")
    marker_ttl_seconds = options.get("limit_marker_ttl_seconds", 0)
    return {
        "name": stream,
        "subjects": [f"$KV.{bucket}.>"],
        "retention": "limits",
        "discard": "new",
        "storage": options.get("storage", "file"),
        "num_replicas": options.get("replicas", 1),
        "max_consumers": -1,
        "max_msgs": -1,
        "max_msgs_per_subject": history,
        "max_bytes": options.get("max_bytes") or -1,
        "max_msg_size": options.get("max_value_bytes") or -1,
        "max_age": whole_nanoseconds(ttl_seconds),
        "duplicate_window": whole_nanoseconds(min(ttl_seconds or _DUPLICATE_WINDOW_SECONDS, _DUPLICATE_WINDOW_SECONDS)),
        "compression": "s2" if options.get("compression") else "none",
        "allow_direct": True,
        "allow_rollup_hdrs": True,
        "allow_msg_ttl": True,
        "deny_delete": True,
        **({"subject_delete_marker_ttl": whole_nanoseconds(marker_ttl_seconds)} if marker_ttl_seconds else {}),
        **{name: given[name] for name in ("description", "placement", "republish", "metadata") if name in given},
    }


def ordered_options(options: WatchOptions) -> OrderedOptions:
    """Return where reading begins, and how much of each message is sent."""
    given: Mapping[str, object] = options
    if unknown := given.keys() - WatchOptions.__annotations__.keys():
        raise UsageError(f"A watch has unknown options: {', '.join(sorted(unknown))}.")
    if sum(bool(options.get(each)) for each in ("include_history", "updates_only", "from_revision")) > 1:
        raise UsageError(
            "A watch was to begin in two ways.", advice="Give one of include_history, updates_only, from_revision."
        )
    ordered = OrderedOptions(config={"headers_only": True} if options.get("headers_only") else {})
    if options.get("from_revision"):
        return OrderedOptions(
            deliver_policy="by_start_sequence", opt_start_seq=options["from_revision"], config=ordered["config"]
        )
    if options.get("updates_only"):
        ordered["deliver_policy"] = "new"
    else:
        ordered["deliver_policy"] = "all" if options.get("include_history") else "last_per_subject"
    return ordered


def operation_of(headers: Headers) -> Operation:
    """Return what a message does to its key. A mark of the server's for a reason not known here still ends a value."""
    if "Nats-Marker-Reason" in headers:
        return _REASONS.get(headers["Nats-Marker-Reason"], "delete")
    return _OPERATIONS.get(headers.get("KV-Operation", ""), "put")


def entry_of(bucket: str, prefix: str, message: StoredMessage) -> Entry:
    """Return the entry that a message of the bucket's stream is."""
    return Entry(
        bucket=bucket,
        key=message.subject.removeprefix(prefix),
        value=message.data,
        revision=message.sequence,
        created=message.time,
        operation=operation_of(message.headers),
    )
