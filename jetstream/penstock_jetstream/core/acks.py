"""What a message of a stream says in its reply subject, and the answers that it may be given.

Knows ack tokens of version 1 and 2, the payload of each answer, and that a message is answered for good only once.
Does not know how an answer is sent, or whether the server took it.
"""

import json
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime

from penstock_jetstream.core.times import time_of, whole_nanoseconds
from penstock_jetstream.errors import ProtocolError, UsageError

ACK_PREFIX = b"$JS.ACK."
"""What the reply subject of every message of a stream begins with, and of no other message (S-14)."""

ACK = b"+ACK"
NAK = b"-NAK"
TERM = b"+TERM"
IN_PROGRESS = b"+WPI"

V1_TOKENS = 9
V2_TOKENS = 11
"""At least: servers to come may append more, which say nothing to us."""
NO_DOMAIN = "_"

MAX_DIGITS = 20
"""Of the largest unsigned number of 64 bits. Longer ones are no sequences, and dear to convert."""


@dataclass(frozen=True, slots=True)
class AckToken:
    """Where a message stands in its stream and its consumer."""

    domain: str | None
    stream: str
    consumer: str
    delivered: int
    """How often it has been delivered, this time included: 1 the first time."""
    stream_sequence: int
    consumer_sequence: int
    timestamp_ns: int
    """When the stream stored it, in nanoseconds since 1970."""
    pending: int
    """How many messages of the stream the consumer had yet to deliver when it delivered this one."""

    @property
    def timestamp(self) -> datetime:
        """The same to the microsecond, which is what a datetime can hold."""
        return time_of(self.timestamp_ns)


def parse_token(reply: bytes) -> AckToken:
    """Take the reply subject of a message apart; what is none of a stream's is a ProtocolError."""
    tokens = reply.split(b".")
    if not reply.startswith(ACK_PREFIX):
        raise _malformed(reply, "it does not begin with $JS.ACK")
    if len(tokens) == V1_TOKENS:
        domain, first = None, 2
    elif len(tokens) >= V2_TOKENS:
        domain, first = _name(tokens[2], reply), 4
    else:
        raise _malformed(reply, f"it has {len(tokens)} tokens, where there are {V1_TOKENS} or at least {V2_TOKENS}")
    return AckToken(
        None if domain == NO_DOMAIN else domain,
        _name(tokens[first], reply),
        _name(tokens[first + 1], reply),
        *(_number(token, reply) for token in tokens[first + 2 : first + 7]),
    )


def nak_payload(delay_seconds: float | None = None) -> bytes:
    """Ask for the message again: at once, or after a delay, for which it stays among the pending ones (V-03)."""
    if delay_seconds is None:
        return NAK
    if not (math.isfinite(delay_seconds) and delay_seconds >= 0):
        raise UsageError(
            f"A message cannot be delayed by {delay_seconds!r} seconds.", advice="Give a number of seconds, 0 or more."
        )
    delay = {"delay": whole_nanoseconds(delay_seconds)}
    return NAK + b" " + json.dumps(delay).encode()


def term_payload(reason: str = "") -> bytes:
    """Have the message never delivered again; the reason goes into the server's advisory (V-05)."""
    return TERM + b" " + reason.encode() if reason else TERM


class Answerable(ABC):
    """The once-only rule (S-21): when one final answer has gone out, every later answer is silently nothing.

    An answer counts only when sending it did not fail: it may be given again after an error. Where the ack policy is
    none there is nothing to answer, so that a message begins as settled (S-22).
    """

    __slots__ = ("is_settled",)

    is_settled: bool

    @abstractmethod
    def _send_answer(self, payload: bytes) -> None:
        """Send it, or raise."""

    def answer(self, payload: bytes, *, is_final: bool = True) -> None:
        if not self.is_settled:
            self._send_answer(payload)
            self.is_settled = is_final


def _name(token: bytes, reply: bytes) -> str:
    try:
        name = token.decode()
    except UnicodeDecodeError:
        raise _malformed(reply, "a name in it is not UTF-8") from None
    if not name:
        raise _malformed(reply, "a name in it is empty")
    return name


def _number(token: bytes, reply: bytes) -> int:
    if not token.isdigit() or len(token) > MAX_DIGITS:
        raise _malformed(reply, f"{token[:30]!r} stands where a number should")
    return int(token)


def _malformed(reply: bytes, why: str) -> ProtocolError:
    return ProtocolError(f"A message's reply subject is no ack token: {why}: {reply[:120]!r}.")
