"""Pull requests as the server reads them: the one place where their bodies, subjects and replies are made.

Knows the keys of a request (ADR-13, ADR-37, ADR-42), and how a reply tells which request a status answers: all replies
of a consume are subjects of one subscription, `<inbox>.*`, with the request's number as the last token. Does not know
when to pull.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

UNLIMITED_BATCH = 1_000_000
"""The batch of a request that is limited by bytes alone (C-11, C-22)."""


def next_subject(prefix: str, stream: str, consumer: str) -> str:
    """Return where pulls go; the prefix is `$JS.API`, or `$JS.<domain>.API`, or an account's own (P-01)."""
    return f"{prefix}.CONSUMER.MSG.NEXT.{stream}.{consumer}"


def reply_to(inbox: str, number: int) -> str:
    return f"{inbox}.{number}"


def request_number(subject: bytes) -> int:
    """Return the number of the request that a status was sent for; 0 if its subject has none."""
    token = subject.rpartition(b".")[2]
    return int(token) if token.isdigit() else 0


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What one request asks for. Absent keys mean the server's default, so only what differs from it is sent."""

    batch: int
    expires_seconds: float = 0
    max_bytes: int = 0
    no_wait: bool = False
    idle_heartbeat_seconds: float = 0
    group_fields: Mapping[str, Any] = field(default_factory=dict)
    pin_id: str = ""

    def body(self) -> bytes:
        fields: dict[str, Any] = {
            "batch": self.batch,
            "max_bytes": self.max_bytes,
            "expires": nanoseconds(self.expires_seconds),
            "idle_heartbeat": nanoseconds(self.idle_heartbeat_seconds),
            "no_wait": self.no_wait,
            **self.group_fields,
            "id": self.pin_id,
        }
        return json.dumps({key: value for key, value in fields.items() if value}, separators=(",", ":")).encode()


def nanoseconds(seconds: float) -> int:
    """Return whole microseconds as nanoseconds, so that 4.9 s is 4 900 000 000 and not a little less."""
    return round(seconds * 1_000_000) * 1_000
