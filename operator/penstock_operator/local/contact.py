"""What a local home asks over a Connection: how far a consumer is, how workers stand, how many dead letters there are.

Knows the requests. A question that nobody answers in time is answered by None: whoever asks holds what is known.
"""

import asyncio
import json
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from penstock_jetstream import Connection, ConsumerInfo, JetStream
from penstock_jetstream.errors import JetStreamError, MissingError
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.message_loss import ConsumerPosition
from penstock_operator.services.nats.material import Material
from penstock_operator.services.nats.presence import consumer_position
from penstock_operator.services.nats.workers import subject_of

ANSWER_SECONDS = 2.0

T = TypeVar("T")


@dataclass(slots=True)
class Contact:
    """One Connection's. `keep` it open for as long as it is used."""

    made_from: Material
    connection: Connection

    @classmethod
    def of(cls, made_from: Material, name: str) -> "Contact":
        connection = Connection(
            made_from.servers, auth=made_from.auth, tls=made_from.tls, name=name, wait_for_server=True
        )
        return cls(made_from, connection)

    async def keep(self) -> None:
        """Be connected until cancelled."""
        async with self.connection:
            await asyncio.Event().wait()

    @property
    def is_open(self) -> bool:
        return self.connection.is_connected

    async def consumer(self, place: GroupPlace) -> tuple[ConsumerInfo, ConsumerPosition] | None:
        """Return what the server says of the consumer, and how far it is in its stream."""
        return await self._answer(self._consumer(place))

    async def dead_letters(self, place: GroupPlace) -> int | None:
        """Return how many there are of this group."""
        if place.dead_letter_identity is None:
            return await self._answer(self._stream_or_none(place.dead_letter_stream))
        return await self._answer(self._below(place))

    async def status(self, group: str, worker: str) -> dict[str, Any] | None:
        """Return how a worker stands, in its own words."""
        subject = subject_of(group, "status", worker=worker)
        reply = await self._answer(self.connection.request(subject, timeout_seconds=ANSWER_SECONDS))
        if reply is None:
            return None
        told: dict[str, Any] = json.loads(reply.payload)
        return told

    @property
    def _jetstream(self) -> JetStream:
        domain, prefix = self.made_from.domain, self.made_from.api_prefix
        return JetStream(self.connection, domain=domain or None, api_prefix=prefix or None)

    async def _consumer(self, place: GroupPlace) -> tuple[ConsumerInfo, ConsumerPosition]:
        stream = await self._jetstream.streams.info(place.stream)
        consumer = await self._jetstream.consumers.info(place.stream, place.consumer)
        return consumer, consumer_position(stream, consumer, self.connection.server.id)

    async def _stream_or_none(self, name: str) -> int:
        try:
            return (await self._jetstream.streams.info(name)).state.messages
        except MissingError:
            return 0

    async def _below(self, place: GroupPlace) -> int:
        subjects = f"{place.dead_letter_subject}.>"
        try:
            info = await self._jetstream.streams.info(place.dead_letter_stream, subjects=subjects)
        except MissingError:
            return 0
        return sum((info.state.subjects or {}).values())

    async def _answer(self, question: Awaitable[T]) -> T | None:
        if not self.is_open:
            _close(question)
            return None
        with suppress(JetStreamError, TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS):
                return await question
        return None


def _close(question: Awaitable[Any]) -> None:
    """Leave a question unasked, without a warning that nobody awaited it."""
    close = getattr(question, "close", None)
    if close is not None:
        close()
