"""What the engine publishes: dead letters to their stream, and users' messages.

Knows that a message is published only when its PubAck has come; its id keeps a second attempt from storing it twice.
Does not know what a dead letter says (letters.py).
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from penstock_jetstream import JetStream, PubAck, Publisher
from penstock_jetstream.errors import JetStreamError

PUBLISH_SECONDS = 30.0
MOST_ON_THEIR_WAY = 256


class CannotPublishError(Exception):
    """Something was not stored, as far as is known. The text says what and why."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A message to be published, in the words of publishers."""

    subject: str
    data: bytes
    headers: dict[str, list[str]]
    message_id: str


async def publish(jetstream: JetStream, drafts: Iterable[Draft], *, stream: str | None = None) -> None:
    """Publish messages, and return when each has its PubAck: from that stream, if one is named."""
    acks: list[tuple[Draft, asyncio.Future[PubAck]]] = []
    refused: CannotPublishError | None = None
    async with jetstream.publisher(max_in_flight=MOST_ON_THEIR_WAY, timeout_seconds=PUBLISH_SECONDS) as publisher:
        for draft in drafts:
            try:
                acks.append((draft, await _submit(publisher, draft, stream)))
            except JetStreamError as problem:
                refused = _cannot(draft, problem)
                break
    failures = [_cannot(draft, failure) for draft, ack in acks if (failure := ack.exception()) is not None]
    if refused or failures:
        raise refused or failures[0]


async def _submit(publisher: Publisher, draft: Draft, stream: str | None) -> asyncio.Future[PubAck]:
    if stream is None:
        return await publisher.submit(draft.subject, draft.data, headers=draft.headers, message_id=draft.message_id)
    return await publisher.submit(
        draft.subject, draft.data, headers=draft.headers, message_id=draft.message_id, expected_stream=stream
    )


def _cannot(draft: Draft, problem: BaseException) -> CannotPublishError:
    return CannotPublishError(f"The message on {draft.subject} with id {draft.message_id} was not stored: {problem}")
