"""Requests to JetStream's API: where they go, what they are about, and whether an answer is one.

Knows prefixes, and the frame that all answers share. Does not know the single requests (stream_requests.py,
consumer_requests.py), nor how one is sent.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from penstock_jetstream.core.facts import Facts, parse
from penstock_jetstream.errors import ProtocolError, UsageError
from penstock_jetstream.errors.api import api_error

DEFAULT_PREFIX = "$JS.API"
REQUIRED_LEVEL_HEADER = "Nats-Required-Api-Level"
_TYPE_PREFIX = "io.nats.jetstream.api.v1."
_Entry = TypeVar("_Entry")


@dataclass(frozen=True, slots=True)
class Request:
    """One request. The operation and its object are worded for errors: "created", "stream ORDERS"."""

    subject: str
    """What follows the prefix."""
    operation: str
    object: str
    answer: str
    """The type that the answer names, such as stream_create_response."""
    body: Mapping[str, Any] = field(default_factory=dict)
    repeatable: bool = False
    """It may be sent again where nobody knows if it arrived: it changes nothing."""

    @property
    def payload(self) -> bytes:
        """Return the body as it is sent. An empty one is no body: some requests insist on that."""
        try:
            return json.dumps(self.body, separators=(",", ":"), allow_nan=False).encode() if self.body else b""
        except (TypeError, ValueError, RecursionError) as problem:
            raise UsageError(
                f"What is to be said of {self.object} cannot be written as JSON: {problem}.",
                advice="Use strings, whole numbers, true and false, lists and objects; durations are nanoseconds.",
            ) from problem


ACCOUNT_INFO = Request("INFO", "described", "the account", "account_info_response", repeatable=True)


def prefix(*, domain: str | None = None, api_prefix: str | None = None) -> str:
    """Return what all API subjects begin with (P-01)."""
    if domain is not None and api_prefix is not None:
        raise UsageError(
            "A domain and an API prefix were given, which say the same in two ways.", advice="Give only one of them."
        )
    if domain is not None:
        if not _are_tokens([domain]):
            raise UsageError(
                f"{domain!r} cannot be a domain.", advice="A domain is one word without dots and wildcards."
            )
        return f"$JS.{domain}.API"
    if api_prefix is None:
        return DEFAULT_PREFIX
    if not _are_tokens(api_prefix.split(".")):
        raise UsageError(
            f"{api_prefix!r} cannot be an API prefix.", advice="It is the first part of a subject, such as JS.hub.API."
        )
    return api_prefix


def read_answer(request: Request, payload: bytes) -> Facts:
    """Return what the server answers; raise what it refuses, or what is no answer to this request."""
    facts = parse(payload, f"answer when {request.object} was to be {request.operation}")
    if "error" in facts:
        raise api_error(facts.raw["error"], operation=request.operation, object=request.object)
    if facts.text("type") != _TYPE_PREFIX + request.answer:
        raise ProtocolError(
            f"{request.object[:1].upper()}{request.object[1:]} was to be {request.operation}, and the server answered "
            f"with {facts.text('type')!r} instead of {request.answer}.",
            advice="Does another program answer on the API's subjects?",
        )
    return facts


def read_success(request: Request, payload: bytes) -> None:
    """Check an answer that has nothing to tell but that it was done."""
    if not read_answer(request, payload).flag("success"):
        raise ProtocolError(f"The server neither refused nor confirmed that {request.object} was {request.operation}.")


@dataclass(frozen=True, slots=True)
class Page(Generic[_Entry]):
    """A part of a list, and where the next part begins, if there is one."""

    entries: Sequence[_Entry]
    next_offset: int | None
    unavailable: Mapping[str, str]
    """What belongs into the list and is not in it, with the reason: its leader did not answer, or it is offline."""


def read_page(facts: Facts, entries: Sequence[_Entry]) -> Page[_Entry]:
    """Read what a page says of the list that it is part of. One with nothing on it is the last, whatever the total."""
    end = facts.number("offset", 0) + len(entries)
    more = bool(entries) and end < facts.number("total", 0)
    missing = dict.fromkeys(facts.texts("missing"), "its leader did not answer")
    return Page(entries, end if more else None, {**missing, **facts.mapping("offline")})


def _are_tokens(tokens: Sequence[str]) -> bool:
    return all(token and not set(token) & set(" \t\r\n\f\0.*>") for token in tokens)
