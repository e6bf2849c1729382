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


async def publish(jetstream: JetStream, drafts: Iterable[Draft]) -> None:
    """Publish messages, and return when each has its PubAck."""
    for problem in await publish_each(jetstream, drafts):
        if problem is not None:
            raise problem


async def publish_each(
    jetstream: JetStream, drafts: Iterable[Draft], *, stream: str | None = None
) -> list[CannotPublishError | None]:
    """Publish messages, and return for each why it has no PubAck, or None: one from that stream, if one is named."""
    sent: list[tuple[Draft, asyncio.Future[PubAck] | JetStreamError]] = []
    async with jetstream.publisher(max_in_flight=MOST_ON_THEIR_WAY, timeout_seconds=PUBLISH_SECONDS) as publisher:
        for draft in drafts:
            try:
                sent.append((draft, await _submit(publisher, draft, stream)))
            except JetStreamError as problem:
                sent.append((draft, problem))
    outcomes = [(draft, each if isinstance(each, JetStreamError) else each.exception()) for draft, each in sent]
    return [None if problem is None else _cannot(draft, problem) for draft, problem in outcomes]


async def _submit(publisher: Publisher, draft: Draft, stream: str | None) -> asyncio.Future[PubAck]:
    if stream is None:
        return await publisher.submit(draft.subject, draft.data, headers=draft.headers, message_id=draft.message_id)
    return await publisher.submit(
        draft.subject, draft.data, headers=draft.headers, message_id=draft.message_id, expected_stream=stream
    )


def _cannot(draft: Draft, problem: BaseException) -> CannotPublishError:
    return CannotPublishError(f"The message on {draft.subject} with id {draft.message_id} was not stored: {problem}")
