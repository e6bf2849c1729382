"""A dead letter, read: which message it was, where it came from, why it is here, and what is sent when it is replayed.

Pure. Knows the headers that workers write (penstock_worker.engine.letters, of which tests on both sides hold the form).
A letter that somebody else wrote has what it has. Does not read streams, nor publish.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

from penstock_jetstream.core.headers import Headers

PREFIX = "Penstock-"
ORIGINAL = f"{PREFIX}Original-"
"""Before names that would have meant something to the server, or to us."""
RAW_HEADERS = f"{PREFIX}Original-Headers"
LINE_BREAK = "\\n"
"""How the lines of a trace are told apart in a header, which is one line."""
DELIVERY = "Nats-"
"""What the server adds, and what it acts on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """One of them."""

    sequence: int
    """In the stream of dead letters: by it people name it."""
    stored: datetime
    facts: Mapping[str, str]
    """What the worker wrote, by the names of its headers without their prefix."""
    headers: Mapping[str, Sequence[str]]
    """The message's own, as they would be sent again."""
    has_raw_headers: bool = False
    """Whether the message's headers were not made as headers are: they cannot be sent again."""

    def fact(self, name: str) -> str:
        return self.facts.get(name, "")

    @property
    def reason(self) -> str:
        return self.fact("Reason")

    @property
    def subject(self) -> str:
        """The message's own."""
        return self.fact("Subject")

    @property
    def stream(self) -> str:
        """Where it was."""
        return self.fact("Stream")

    @property
    def trace(self) -> list[str]:
        return self.fact("Trace").split(LINE_BREAK) if self.fact("Trace") else []


def dead_letter(sequence: int, stored: datetime, headers: Headers) -> DeadLetter:
    """Read a message of a stream of dead letters."""
    facts = {
        name.removeprefix(PREFIX): headers[name]
        for name in headers
        if name.startswith(PREFIX) and not name.startswith(ORIGINAL)
    }
    return DeadLetter(
        sequence=sequence,
        stored=stored,
        facts=facts,
        headers=_own(headers),
        has_raw_headers=RAW_HEADERS in headers,
    )


def _own(headers: Headers) -> dict[str, list[str]]:
    """Return what the message had.

    What the server acts on keeps the name that the letter gave it: the message's old id would have a replay taken for
    the message that it was, and an old expectation would have it refused.
    """
    own: dict[str, list[str]] = {}
    restored: dict[str, list[str]] = {}
    for name in headers:
        if name.startswith(f"{ORIGINAL}{PREFIX}"):
            restored[name.removeprefix(ORIGINAL)] = headers.all(name)
        elif name.startswith(f"{ORIGINAL}{DELIVERY}") or not name.startswith((PREFIX, DELIVERY)):
            own[name] = headers.all(name)
    return own | restored


def stand_in(subject: str) -> str:
    """Return what a letter's own subject has in the place of a subject that is too long for it."""
    return f"subject-{hashlib.sha256(subject.encode()).hexdigest()[:32]}"


def replay_id(dead_letter_stream: str, letter: DeadLetter) -> str:
    """Return the message id of a letter's replay: the same each time, and different for each letter that there was."""
    return f"replay:{dead_letter_stream}:{letter.sequence}:{letter.stored.isoformat()}"


FIELDS: Mapping[str, Callable[[DeadLetter], str]] = {
    "reason": lambda letter: letter.reason,
    "error": lambda letter: letter.fact("Error"),
    "message": lambda letter: letter.fact("Error-Message"),
    "condition": lambda letter: letter.fact("Condition"),
    "place": lambda letter: letter.fact("Place"),
    "subject": lambda letter: letter.subject,
    "batch": lambda letter: letter.fact("Batch"),
    "worker": lambda letter: letter.fact("Worker"),
}
"""By what letters can be chosen."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a letter must have to be meant."""

    field: str
    pattern: str
    """Where * stands for anything."""

    def holds(self, letter: DeadLetter) -> bool:
        return fnmatchcase(FIELDS[self.field](letter), self.pattern)


class ConditionError(ValueError):
    """A condition cannot be understood; the text says why."""


def condition(text: str) -> Condition:
    """Read FIELD=PATTERN."""
    field, equals, pattern = text.partition("=")
    if not equals or field not in FIELDS:
        raise ConditionError(f"{text!r} is not FIELD=PATTERN, with one of the fields {', '.join(FIELDS)}.")
    return Condition(field, pattern)
