"""Which subjects can be sent to, and which can be listened to.

Knows the rules of subjects, and how long a server lets them be. Does not know what any subject means.
"""

import re

from penstock_jetstream.errors import UsageError

MAX_SUBJECT_BYTES = 4000
"""A server closes a connection whose control line is longer than 4096 bytes: the verb, subjects and sizes together."""

_LETTER = r"[^\x00-\x20\x7f.]"
_LITERAL = rf"(?![*>](?:\.|\Z)){_LETTER}+"
_LITERALS = re.compile(rf"{_LITERAL}(?:\.{_LITERAL})*").fullmatch
_PATTERN = re.compile(rf"(?:>|(?:\*|{_LITERAL})(?:\.(?:\*|{_LITERAL}))*(?:\.>)?)").fullmatch
_WORD = re.compile(r"[^\x00-\x20\x7f]+").fullmatch

_ADVICE = "A subject is words with dots between them, without spaces"


def encode_target(subject: str) -> bytes:
    """Return the subject of a message to be sent, as the wire has it."""
    if not _LITERALS(subject):
        raise UsageError(f"{subject!r} cannot be published to.", advice=f"{_ADVICE} and wildcards.")
    return _encoded(subject)


def encode_pattern(subject: str) -> bytes:
    """Return the subject of a subscription: `*` stands for a word, and `>` at the end for all that follow."""
    if not _PATTERN(subject):
        raise UsageError(
            f"{subject!r} cannot be subscribed to.", advice=f"{_ADVICE}; `*` is a whole word, and `>` the last one."
        )
    return _encoded(subject)


def encode_queue(name: str) -> bytes:
    """Return the name of a queue group."""
    if not _WORD(name):
        raise UsageError(f"{name!r} cannot be the name of a queue group.", advice="Use a word without spaces.")
    return _encoded(name)


def has_wildcards(subject: str) -> bool:
    """Tell whether a subject stands for several, and so cannot be sent to."""
    return not {"*", ">"}.isdisjoint(subject.split("."))


def _encoded(subject: str) -> bytes:
    try:
        encoded = subject.encode()
    except UnicodeEncodeError as problem:
        raise UsageError(f"{subject!r} cannot be written as UTF-8.", advice="Remove lone surrogates.") from problem
    if len(encoded) > MAX_SUBJECT_BYTES:
        raise UsageError(
            f"A subject has {len(encoded)} bytes, of which a server takes {MAX_SUBJECT_BYTES}.",
            advice="Put what is long into the payload or a header.",
        )
    return encoded
