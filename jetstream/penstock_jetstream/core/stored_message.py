"""A message as a stream holds it: read without a consumer, so there is nothing to acknowledge.

Knows the two forms it comes in: JSON with base64 from the leader, and a message with added headers from any replica
that answers direct gets (X-03). Does not know how either was asked for.
"""

import binascii
from base64 import b64decode
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from penstock_jetstream.core.facts import Facts
from penstock_jetstream.core.headers import Headers
from penstock_jetstream.core.times import nanoseconds, time_of
from penstock_jetstream.errors import ProtocolError

STREAM, SUBJECT, SEQUENCE, TIME = "Nats-Stream", "Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp"
PENDING, LAST_SEQUENCE, UP_TO_SEQUENCE = "Nats-Num-Pending", "Nats-Last-Sequence", "Nats-UpTo-Sequence"
_FIRST_ADDED = b"\r\nNats-Stream:"
_END = b"\r\n\r\n"
_MAX_DIGITS = 20
"""Of 64 bits."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message of a stream, where and since when it is there."""

    stream: str
    subject: str
    sequence: int
    timestamp_ns: int
    """When it was stored, in nanoseconds since 1970."""
    headers: Headers
    data: bytes

    @property
    def time(self) -> datetime:
        """The same to the microsecond, which is what a datetime can hold."""
        return time_of(self.timestamp_ns)

    @classmethod
    def of_json(cls, stream: str, facts: Facts) -> Self:
        """Read the answer of STREAM.MSG.GET."""
        return cls(
            stream=stream,
            subject=facts.text("subject"),
            sequence=facts.number("seq"),
            timestamp_ns=nanoseconds(facts.text("time"), f"time of {facts.of}"),
            headers=Headers(_base64(facts, "hdrs")),
            data=_base64(facts, "data"),
        )

    @classmethod
    def of_direct(cls, headers: Headers, payload: bytes) -> Self:
        """Read the answer of a direct get."""
        return cls(
            stream=direct_text(headers, STREAM),
            subject=direct_text(headers, SUBJECT),
            sequence=direct_number(headers, SEQUENCE),
            timestamp_ns=nanoseconds(direct_text(headers, TIME), TIME),
            headers=Headers(published(headers.raw)),
            data=payload,
        )


def direct_number(headers: Headers, name: str) -> int:
    text = direct_text(headers, name)
    if not (text.isascii() and text.isdigit()) or len(text) > _MAX_DIGITS:
        raise ProtocolError(f"A direct get was answered with {name} {text[:40]!r}, which is not a number.")
    return int(text)


def direct_text(headers: Headers, name: str) -> str:
    """Return one of the added headers: the last of that name, as a message may have been published with another."""
    values = headers.all(name)
    if not values:
        raise ProtocolError(f"A direct get was answered without {name}.")
    return values[-1]


def published(block: bytes) -> bytes:
    """Return the headers that a message was published with: those that a direct get adds stand behind them."""
    kept, added, _ = block.rpartition(_FIRST_ADDED)
    if not added:
        return block
    return kept + _END if b"\r\n" in kept else b""


def _base64(facts: Facts, name: str) -> bytes:
    try:
        return b64decode(facts.text(name, ""), validate=True)
    except (binascii.Error, ValueError) as problem:
        raise ProtocolError(f"{name} of {facts.of} is not base64.") from problem
