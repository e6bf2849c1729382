"""Direct gets (X-03): one message, or many of them page by page, from any replica and without a consumer.

Knows the requests, how a page ends, and when the next one is due. Does not know how they are sent: a shell carries out
what `DirectRead` returns, and tells it what came. Every page has a number, which is in the subject of its answers: what
comes for another page than the present one is late, and is left alone.

Nothing is lost unseen: each message names the one before it (Nats-Last-Sequence), and the end of a page names its last.
Where that does not fit, the rest is asked for again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from penstock_jetstream.core.headers import Headers
from penstock_jetstream.core.selection import Selection
from penstock_jetstream.core.stored_message import (
    LAST_SEQUENCE,
    PENDING,
    UP_TO_SEQUENCE,
    StoredMessage,
    direct_number,
)
from penstock_jetstream.core.times import rfc3339
from penstock_jetstream.errors import ErrorCode, JetStreamError, NoRespondersError, ProtocolError, UsageError, api_error
from penstock_jetstream.errors.direct import DirectGetError

END_OF_PAGE, NOT_FOUND, BAD_REQUEST, LEVEL_TOO_LOW, NO_RESPONDERS = 204, 404, 408, 412, 503
PAGE_MESSAGES = 1000
PAGE_BYTES = 4 << 20
"""A page is what may lie in our memory at once."""
MAX_FRUITLESS_PAGES = 5
"""So often a page that brings nothing new is asked for again: links are lost, but a server may also talk nonsense."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Request a page; its answers come to an inbox that ends with the page's number."""

    page: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Deliver:
    """Hand a message to the user."""

    message: StoredMessage


@dataclass(frozen=True, slots=True)
class End:
    """There is nothing more, or there cannot be."""

    error: JetStreamError | None = None


Action = Ask | Deliver | End


class Plan(Protocol):
    """What is to be read."""

    @property
    def up_to_sequence(self) -> int: ...

    @property
    def max_messages(self) -> int: ...

    def body(self, *, after_sequence: int, up_to_sequence: int, batch: int) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Messages in the stream's order: from a sequence or a time on, all or those on a subject."""

    subject: str = ""
    start_sequence: int = 1
    start_time: datetime | None = None
    up_to_sequence: int = 0
    """The last that is read, if it is there; 0 is the stream's end."""
    max_messages: int = 0
    """0 is no limit."""

    def __post_init__(self) -> None:
        if self.start_sequence < 1:
            raise UsageError(f"Reading was to start at sequence {self.start_sequence}.", advice="The first has 1.")
        if self.start_time is not None and self.start_sequence > 1:
            raise UsageError("Reading was to start at a sequence and at a time.", advice="Give one of them.")
        if self.max_messages < 0 or self.up_to_sequence < 0:
            raise UsageError("Reading was limited to less than nothing.", advice="0 is no limit.")

    def body(self, *, after_sequence: int, up_to_sequence: int, batch: int) -> Mapping[str, Any]:
        body: dict[str, Any] = {"batch": batch, "max_bytes": PAGE_BYTES}
        if self.subject:
            body["next_by_subj"] = self.subject
        if self.start_time is not None and not after_sequence:
            return body | {"start_time": rfc3339(self.start_time)}
        first = max(self.start_sequence, after_sequence + 1)
        if up_to_sequence and not self.subject:
            body["batch"] = max(1, min(batch, up_to_sequence - first + 1))
        return body | {"seq": first}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasts:
    """The last message of each subject that matches, as the stream was up to a sequence or a time."""

    subjects: Sequence[str]
    up_to_sequence: int = 0
    """0 is now. All pages show the stream as it was then."""
    up_to_time: datetime | None = None
    max_messages: int = 0

    def __post_init__(self) -> None:
        if not self.subjects or isinstance(self.subjects, str):
            raise UsageError("The last messages of no subjects were asked for.", advice='Give a list: ["orders.>"].')
        if self.up_to_sequence and self.up_to_time is not None:
            raise UsageError("The stream was asked for as of a sequence and of a time.", advice="Give one of them.")

    def body(self, *, after_sequence: int, up_to_sequence: int, batch: int) -> Mapping[str, Any]:
        body: dict[str, Any] = {"multi_last": list(self.subjects), "batch": batch, "max_bytes": PAGE_BYTES}
        if after_sequence:
            body["seq"] = after_sequence + 1
        if up_to_sequence:
            return body | {"up_to_seq": up_to_sequence}
        return body | ({"up_to_time": rfc3339(self.up_to_time)} if self.up_to_time is not None else {})


class DirectRead:
    """Reads what a plan says. After it has returned End, what else comes is of no interest."""

    def __init__(self, stream: str, plan: Plan) -> None:
        self._stream = stream
        self._plan = plan
        self._page = 0
        self._last_sequence = 0
        """Of what was delivered: the next page begins behind it."""
        self._page_last_sequence = 0
        """The same, of this page only; 0 before its first message."""
        self._up_to_sequence = plan.up_to_sequence
        self._delivered = 0
        self._fruitless_pages = 0

    def start(self) -> list[Action]:
        return self._ask()

    def relinked(self) -> list[Action]:
        """Ask again for what was to come when the link was lost."""
        return self._ask()

    def received(self, page: int, headers: Headers, payload: bytes) -> list[Action]:
        """Take in a message or a status."""
        if page != self._page:
            return []
        if headers.status is not None:
            return self._status(headers)
        return self._message(headers, StoredMessage.of_direct(headers, payload))

    def _message(self, headers: Headers, message: StoredMessage) -> list[Action]:
        if direct_number(headers, LAST_SEQUENCE) != self._page_last_sequence:
            return self._ask()
        if message.sequence <= self._last_sequence:
            return [End(self._nonsense())]
        self._last_sequence = self._page_last_sequence = message.sequence
        self._fruitless_pages = 0
        if self._up_to_sequence and message.sequence > self._up_to_sequence:
            return [End()]
        self._delivered += 1
        return [Deliver(message), *([End()] if self._is_satisfied() else [])]

    def _is_satisfied(self) -> bool:
        reached_end = bool(self._up_to_sequence) and self._last_sequence >= self._up_to_sequence
        return reached_end or self._delivered == self._plan.max_messages > 0

    def _status(self, headers: Headers) -> list[Action]:
        if headers.status == END_OF_PAGE:
            return self._end_of_page(headers)
        if headers.status == NOT_FOUND:
            return self._ask() if self._page_last_sequence else [End()]
        return [End(status_error(headers, self._stream, f"messages of stream {self._stream}"))]

    def _end_of_page(self, headers: Headers) -> list[Action]:
        last, pending = direct_number(headers, LAST_SEQUENCE), direct_number(headers, PENDING)
        if UP_TO_SEQUENCE in headers:
            self._up_to_sequence = direct_number(headers, UP_TO_SEQUENCE)
        if last != self._page_last_sequence:
            return self._ask()
        return self._ask() if pending else [End()]

    def _ask(self) -> list[Action]:
        self._fruitless_pages += 1
        if self._fruitless_pages > MAX_FRUITLESS_PAGES:
            return [End(self._nonsense())]
        self._page += 1
        self._page_last_sequence = 0
        left = self._plan.max_messages - self._delivered
        body = self._plan.body(
            after_sequence=self._last_sequence,
            up_to_sequence=self._up_to_sequence,
            batch=min(left, PAGE_MESSAGES) if self._plan.max_messages else PAGE_MESSAGES,
        )
        return [Ask(self._page, json.dumps(body, separators=(",", ":")).encode())]

    def _nonsense(self) -> ProtocolError:
        return ProtocolError(
            f"Direct gets of stream {self._stream} are not answered with what follows message {self._last_sequence}.",
            advice="Does another program answer on the API's subjects, or is the link lost again and again?",
        )


def read_one(stream: str, selection: Selection, headers: Headers, payload: bytes) -> StoredMessage:
    """Read the answer to a direct get of a single message."""
    if headers.status is None:
        return StoredMessage.of_direct(headers, payload)
    raise status_error(headers, stream, f"{selection.words} of stream {stream}")


def status_error(headers: Headers, stream: str, object: str) -> JetStreamError:  # noqa: A002 - as ApiError has it
    """Return what a status means. Those that have an error code elsewhere get that (404, 412)."""
    match headers.status:
        case 404:
            refusal = {"code": NOT_FOUND, "err_code": ErrorCode.NO_MESSAGE_FOUND, "description": headers.description}
            return api_error(refusal, operation="found", object=object)
        case 412:
            refusal = {"code": 412, "err_code": ErrorCode.REQUIRED_API_LEVEL, "description": headers.description}
            return api_error(refusal, operation="found", object=object)
        case 503:
            return nobody_answers(stream)
        case status:
            return DirectGetError(object, status=status or 0, description=headers.description)


def nobody_answers(stream: str) -> NoRespondersError:
    return NoRespondersError(
        f"Nobody answers direct gets of stream {stream}.",
        advice="Either it does not exist, or it needs allow_direct (a mirror: mirror_direct).",
    )
