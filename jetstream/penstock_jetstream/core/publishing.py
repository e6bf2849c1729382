"""What a publish says to the stream in headers, what the stream answers, and when to try again (X-02).

Knows headers, PubAcks and the rule of another attempt. Does not know how anything is sent, or what time it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypedDict

from penstock_jetstream.core.facts import Facts, parse
from penstock_jetstream.core.headers import HeadersLike
from penstock_jetstream.errors import UsageError, api_error

MIN_TTL_SECONDS = 1
BATCH_LEVEL = 2
"""The API level that knows atomic batches. An older server would store their messages one by one."""
_MILLISECONDS = 1000


class PublishOptions(TypedDict, total=False):
    """What a publish may say beside its data. The expectations make it fail where they do not hold: a ConflictError."""

    headers: HeadersLike
    message_id: str
    """A second message with the same id is dropped, within the stream's duplicate_window."""
    expected_stream: str
    expected_last_sequence: int
    expected_last_subject_sequence: int
    """Of the message's own subject, or of expected_last_subject; 0 is none yet."""
    expected_last_subject: str
    """A subject, perhaps with wildcards, for the one above."""
    expected_last_message_id: str
    ttl_seconds: float | Literal["never"]
    """How long the message is kept, from 1 s on; the stream must have allow_msg_ttl."""
    required_api_level: int
    """Refuse the message where the server is older."""


_NAMES: Mapping[str, str] = {
    "message_id": "Nats-Msg-Id",
    "expected_stream": "Nats-Expected-Stream",
    "expected_last_sequence": "Nats-Expected-Last-Sequence",
    "expected_last_subject_sequence": "Nats-Expected-Last-Subject-Sequence",
    "expected_last_subject": "Nats-Expected-Last-Subject-Sequence-Subject",
    "expected_last_message_id": "Nats-Expected-Last-Msg-Id",
    "required_api_level": "Nats-Required-Api-Level",
}


def headers_of(options: PublishOptions) -> dict[str, str | Sequence[str]] | None:
    """Return all headers that a publish is sent with; None where there are none."""
    given: Mapping[str, object] = options
    if unknown := given.keys() - PublishOptions.__annotations__.keys():
        raise UsageError(f"A publish has unknown options: {', '.join(sorted(unknown))}.")
    headers = dict(options.get("headers") or {})
    headers |= {name: str(given[option]) for option, name in _NAMES.items() if option in given}
    if "ttl_seconds" in options:
        headers["Nats-TTL"] = ttl(options["ttl_seconds"])
    if "expected_last_subject" in options and "expected_last_subject_sequence" not in options:
        raise UsageError(
            "A publish names expected_last_subject without expected_last_subject_sequence.",
            advice="Give the sequence that the last message on it should have.",
        )
    return headers or None


def ttl(seconds: float | Literal["never"]) -> str:
    """Return a time to live as the server wants it: whole seconds, or a duration as Go writes them (X-07)."""
    if seconds == "never":
        return "never"
    if not MIN_TTL_SECONDS <= seconds < float("inf"):
        raise UsageError(
            f"A message cannot live for {seconds!r} seconds.", advice=f'Give at least {MIN_TTL_SECONDS}, or "never".'
        )
    return str(int(seconds)) if seconds == int(seconds) else f"{round(seconds * _MILLISECONDS)}ms"


@dataclass(frozen=True, slots=True)
class PubAck:
    """The stream has stored a message."""

    stream: str
    sequence: int
    duplicate: bool
    """It had stored one of this message id before; the sequence is that one's."""
    domain: str | None
    counter: str | None
    """What a counter stands at now, in a stream that has allow_msg_counter."""
    batch_id: str | None
    batch_size: int
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, payload: bytes, subject: str) -> Self:
        """Take an answer apart; raise what the stream refuses."""
        facts = parse(payload, f"answer to a message on {subject}")
        if "error" in facts:
            raise api_error(facts.raw["error"], operation="stored", object=f"a message on {subject}")
        return cls._of(facts)

    @classmethod
    def _of(cls, facts: Facts) -> Self:
        return cls(
            stream=facts.text("stream"),
            sequence=facts.number("seq"),
            duplicate=facts.flag("duplicate"),
            domain=facts.text("domain", "") or None,
            counter=facts.text("val", "") or None,
            batch_id=facts.text("batch", "") or None,
            batch_size=facts.number("count", 0),
            raw=facts.raw,
        )


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a publish is tried where no stream answers."""

    attempts: int = 3
    """-1 is until the deadline."""
    wait_seconds: float = 0.25
    """Between two; a new leader is elected in about that time."""

    def __post_init__(self) -> None:
        if self.attempts == 0 or self.attempts < -1:
            raise UsageError(f"{self.attempts} attempts were asked for.", advice="Give 1 or more, or -1 for no limit.")
        if self.wait_seconds < 0:
            raise UsageError(f"A wait of {self.wait_seconds} s was asked for.", advice="Give 0 or more.")

    def next_attempt(self, made: int, now: float, deadline: float) -> float | None:
        """Return when to try again after an attempt that nobody answered; None when to give up."""
        at = now + self.wait_seconds
        return at if at < deadline and (self.attempts < 0 or made < self.attempts) else None


@dataclass(frozen=True, slots=True)
class Draft:
    """A message that is to be published."""

    subject: str
    data: bytes = b""
    options: PublishOptions = field(default_factory=PublishOptions)


def batch_headers(options: PublishOptions, batch_id: str, sequence: int, *, last: bool) -> HeadersLike:
    """Return the headers of one message of an atomic batch (X-10)."""
    if "expected_last_message_id" in options:
        raise UsageError("A message of an atomic batch expects a last message id, which no server can check.")
    headers = headers_of(options) or {}
    headers |= {"Nats-Batch-Id": batch_id, "Nats-Batch-Sequence": str(sequence)}
    return headers | {"Nats-Batch-Commit": "1"} if last else headers
