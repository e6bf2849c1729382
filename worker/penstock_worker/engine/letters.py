"""What a dead letter says: the message as it was, and in headers where it came from and why it could not be processed.

A letter must fit into what the server takes: the trace is omitted first, and then the message is cut. What was cut is
told by its size and digest, so that the message can be recognized where it is still in its stream. Pure; does not
publish.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock_jetstream.core.headers import Headers, encode
from penstock_jetstream.core.subjects import encode_target
from penstock_jetstream.core.times import time_of
from penstock_jetstream.errors import ProtocolError, UsageError
from penstock_worker.engine.publishing import Draft
from penstock_worker.engine.rows import Rows
from penstock_worker.policy.machine.actions import Letter
from penstock_worker.policy.outcome import Fault

PREFIX = "Penstock-"
ORIGINAL = f"{PREFIX}Original-"
"""Before what the server would act on, such as Nats-Msg-Id: it belonged to the message, and not to its letter."""
RAW_HEADERS = f"{PREFIX}Original-Headers"
"""The whole block in base64, where it is not made as headers are."""
TRACE = f"{PREFIX}Trace"
CUT = f"{PREFIX}Cut"
UNNAMED = "subject-"
"""Before the digest of a subject that is too long for a letter's, or that nothing can be published to."""
LONGEST_TRACE = 8192
LONGEST_TEXT = 2048
LINE_BREAK = "\\n"
DIGEST_LETTERS = 32


@dataclass(frozen=True, slots=True)
class Desk:
    """What all letters of an engine have in common."""

    stream: str
    consumer: str
    group: str
    worker: str
    subject: str
    """Before the original one."""
    life: str
    """That of stream and consumer: others of the same names have other messages, or the same ones once more."""

    def draft(self, letter: Letter, batch_id: str, message: Rows, *, max_payload_bytes: int) -> Draft:
        """Return the letter of a message: rows with just that one."""
        (subject, data, header) = message.subjects[0], message.payloads[0], message.headers.get(0, b"")
        facts, why = self._facts(letter, batch_id, message), _why(letter.reason, letter.fault)
        headers = {**_original(header), **facts, **why}
        kept = _fitted(headers, len(data), max_payload_bytes)
        if kept is None:
            kept, data = _cut(facts, why, header, data, max_payload_bytes)
        stored_at = message.timestamps_ns[0]  # a stream that lost its newest messages gives their sequences to others
        message_id = f"{self.stream}:{letter.sequence}:{self.consumer}:{stored_at}:{self.life}"
        return Draft(self._subject_of(subject), data, kept, message_id)

    def _subject_of(self, original: bytes) -> str:
        subject = f"{self.subject}.{original.decode(errors='replace')}"
        try:
            encode_target(subject)
        except UsageError:
            return f"{self.subject}.{UNNAMED}{hashlib.sha256(original).hexdigest()[:DIGEST_LETTERS]}"
        return subject

    def _facts(self, letter: Letter, batch_id: str, message: Rows) -> dict[str, list[str]]:
        facts = {
            "Stream": self.stream,
            "Consumer": self.consumer,
            "Group": self.group,
            "Worker": self.worker,
            "Batch": batch_id,
            "Subject": message.subjects[0].decode(errors="replace"),
            "Sequence": str(letter.sequence),
            "Timestamp": time_of(message.timestamps_ns[0]).isoformat(),
            "Delivered": str(message.delivered[0]),
            "Attempts": str(letter.attempts),
        }
        return {PREFIX + name: [value] for name, value in facts.items()}


def _why(reason: str, fault: Fault | None) -> dict[str, list[str]]:
    facts = {"Reason": reason}
    if fault is not None:
        facts |= {
            "Error": fault.type,
            "Error-Message": fault.message,
            "Condition": fault.condition or "",
            "Sqlstate": fault.sqlstate or "",
            "Place": fault.place or "",
        }
    why = {PREFIX + name: [_line(value, LONGEST_TEXT)] for name, value in facts.items() if value}
    if fault is not None and fault.trace:
        why[TRACE] = [_line(fault.trace, LONGEST_TRACE)]
    return why


def _original(raw: bytes) -> dict[str, list[str]]:
    """Return a message's own headers, in a form that has nothing to say to the server."""
    if not raw:
        return {}
    headers = Headers(raw)
    try:
        kept = {
            (f"{ORIGINAL}{name}" if name.startswith(("Nats-", PREFIX)) else name): headers.all(name) for name in headers
        }
        encode(kept)
    except (ProtocolError, UsageError):
        return {RAW_HEADERS: [base64.b64encode(raw).decode()]}
    return kept


def _fitted(headers: dict[str, list[str]], data_bytes: int, most: int) -> dict[str, list[str]] | None:
    """Return headers that fit beside the data, without the trace if need be; None if they cannot."""
    without_trace = {name: values for name, values in headers.items() if name != TRACE}
    return next((kept for kept in (headers, without_trace) if data_bytes + _bytes(kept) <= most), None)


def _cut(
    facts: dict[str, list[str]], why: dict[str, list[str]], header: bytes, data: bytes, most: int
) -> tuple[dict[str, list[str]], bytes]:
    """Return headers without the message's own, and as much of its data as there is room for beside them."""
    lost = {"Headers": header, "Data": data} if header else {"Data": data}
    told = {
        f"{CUT}-{what}": [f"{len(whole)} bytes, sha256 {hashlib.sha256(whole).hexdigest()}"]
        for what, whole in lost.items()
    }
    headers = {**facts, **why, **told, CUT: ["The message was too large for a dead letter."]}
    headers.pop(TRACE, None)
    return headers, data[: max(0, most - _bytes(headers))]


MESSAGE_ID_BYTES = 1024
"""For what publishers add: the message id, and the stream that is expected."""


def _bytes(headers: Mapping[str, Sequence[str]]) -> int:
    return len(encode(headers)) + MESSAGE_ID_BYTES


def _line(text: str, longest: int) -> str:
    """Return a text as one line, which headers are."""
    cleaned = text.encode(errors="replace").decode()
    return LINE_BREAK.join(cleaned.splitlines())[:longest]
