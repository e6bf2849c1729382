"""What most tests begin with: a stream of their own, messages, consumers, and a watching client; and how they wait."""

import asyncio
import json
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock_jetstream.client.consumer import Consumer
from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.client.message import Message
from penstock_jetstream.core.consumer_info import ConsumerInfo
from penstock_jetstream.core.publishing import Retry
from penstock_jetstream.core.pulls import next_subject
from penstock_jetstream.errors import (
    ApiError,
    JetStreamError,
    NoRespondersError,
    RequestTimeoutError,
    RetryableError,
)
from penstock_jetstream.transport.connection import Connection
from tests.testbed.nats.shared import EVERY_VARIANT, NEWEST_VARIANTS
from tests.testbed.waiting import eventually_async

SECOND = 1_000_000_000
"""Durations in configurations are in nanoseconds."""
PATIENCE_SECONDS = 20
"""Less than the 30 s after which the alarm of a default consume would mend what a test waits for."""
NOT_YET = (ApiError, NoRespondersError, RequestTimeoutError)
"""What is raised while a server elects, moves or restarts."""
on_every_server = pytest.mark.parametrize("it", EVERY_VARIANT, indirect=True)
on_newest_servers = pytest.mark.parametrize("it", NEWEST_VARIANTS, indirect=True)
"""The fixture `it` is a scene on the newest server, unless one of these chooses others."""


@dataclass(frozen=True)
class Seen:
    """A message that a watcher saw pass."""

    subject: str
    reply: str
    header: bytes
    payload: bytes

    @property
    def pull(self) -> dict[str, Any]:
        """The body of a pull."""
        body: dict[str, Any] = json.loads(self.payload)
        return body


@dataclass(frozen=True)
class Scene:
    """A stream with durable consumers, and the connection that reads from them."""

    url: str | list[str]
    connection: Connection
    js: JetStream
    stream: str
    reports: list[JetStreamError]
    """What consumptions have reported."""
    watchers: list[Connection] = field(default_factory=list)
    """Connections that keep what others publish; what the server has taken may still be on its way to them."""

    @property
    def subject(self) -> str:
        """The one that is published to if no other is given."""
        return f"{self.stream}.m"

    def consumer(self, name: str = "c", *, is_acknowledged: bool = True) -> Consumer:
        """Return a handle; the consumer may be there or not."""
        return Consumer(self.js.api, self.stream, name, is_acknowledged=is_acknowledged, on_report=self.reports.append)

    async def create(self, name: str = "c", **config: Any) -> Consumer:  # noqa: ANN401 - the server's own fields
        fields = {"durable_name": name, "ack_policy": "explicit", "mem_storage": True, **config}
        await self.js.consumers.create(self.stream, fields)
        return self.consumer(name, is_acknowledged=fields["ack_policy"] != "none")

    async def one_message(self, **config: Any) -> tuple[Consumer, Message]:  # noqa: ANN401 - the server's own fields
        """Return a new consumer, and the one message of the stream, fetched from it."""
        consumer = await self.create(**config)
        await self.fill(1)
        (message,) = await consumer.fetch(1)
        return consumer, message

    async def info(self, name: str = "c") -> ConsumerInfo:
        return await self.js.consumers.info(self.stream, name)

    async def consumer_names(self) -> list[str]:
        return [name async for name in self.js.consumers.names(self.stream)]

    async def until(self, condition: Callable[[ConsumerInfo], bool], name: str = "c") -> None:
        """Wait for something that the server says of a consumer, and until watchers have seen what came before."""

        async def holds() -> bool:
            return condition(await self.info(name))

        await eventually_async(holds, f"what is expected of consumer {name}", PATIENCE_SECONDS)
        for watcher in self.watchers:
            await watcher.flush()

    async def until_waiting(self, pulls: int = 1) -> None:
        """Wait until so many pulls wait at the server."""
        await self.until(lambda info: info.num_waiting == pulls)

    async def until_pending(self, messages: int) -> None:
        """Wait until so many messages have been delivered, and are not acknowledged."""
        await self.until(lambda info: info.num_ack_pending == messages)

    async def until_heard(self, name: str = "c") -> None:
        """Wait until pulls reach a consumer that has no messages: in a cluster, others hear late of its leader."""
        subject, body = next_subject("$JS.API", self.stream, name), b'{"batch":1,"no_wait":true}'
        await eventually_async(lambda: self.connection.request(subject, body), subject, not_yet=(NoRespondersError,))

    async def publish(self, *payloads: bytes, subject: str = "m", headers: dict[str, str] | None = None) -> None:
        """Publish to `<stream>.<subject>`, and return when all is stored."""
        for payload in payloads:
            await self.js.publish(f"{self.stream}.{subject}", payload, headers=headers or {})

    async def fill(self, count: int, size_bytes: int = 10, *, first: int = 1) -> None:
        """Store so many messages more, whose payloads begin with their number."""
        async with self.js.publisher(timeout_seconds=PATIENCE_SECONDS, retry=Retry(attempts=-1)) as publisher:
            payloads = [b"%-*d" % (size_bytes, number) for number in range(first, first + count)]
            stored = [await publisher.submit(self.subject, payload) for payload in payloads]
            await asyncio.gather(*stored)

    @asynccontextmanager
    async def watched(self, subject: str) -> AsyncIterator[list[Seen]]:
        """Keep what others publish to a subject, as a second client of the account sees it."""
        seen: list[Seen] = []

        def keep(on: bytes, reply: bytes, header: bytes, payload: bytes) -> None:
            seen.append(Seen(on.decode(), reply.decode(), header, payload))

        async with Connection(self.url) as watcher:
            watcher.subscribe(subject, keep)
            await watcher.flush()
            self.watchers.append(watcher)
            yield seen
            self.watchers.remove(watcher)

    @asynccontextmanager
    async def watched_pulls(self, name: str = "c") -> AsyncIterator[list[Seen]]:
        """Keep the pulls that are made. The watcher is a responder of the subject: then there is never a 503."""
        async with self.watched(f"$JS.API.CONSUMER.MSG.NEXT.{self.stream}.{name}") as seen:
            yield seen


@asynccontextmanager
async def scene(url: str | list[str], name: str, **stream: Any) -> AsyncIterator[Scene]:  # noqa: ANN401 - the server's own fields
    async with Connection(url) as connection:
        js = JetStream(connection)
        await make_stream(js, name, **stream)
        yield Scene(url, connection, js, name, [])


async def make_stream(js: JetStream, name: str, **fields: Any) -> str:  # noqa: ANN401 - the server's own fields
    """Create a stream in memory, of the subjects NAME.>, or as the fields say; return its name.

    A cluster that has just formed may take its nodes for offline at first.
    """
    config = {"name": name, "subjects": [f"{name}.>"], "storage": "memory", **fields}
    await eventually_async(lambda: js.streams.create(config), "a stream is created", not_yet=(RetryableError,))
    return name


async def filled(js: JetStream, name: str, *subjects: str, size_bytes: int = 1, **fields: object) -> str:
    """Create a stream with direct gets and one numbered message on each of these subjects; return its name."""
    await make_stream(js, name, **{"allow_direct": True, **fields})
    async with js.publisher() as publisher:
        for number, subject in enumerate(subjects, start=1):
            _ = await publisher.submit(f"{name}.{subject}", str(number).encode().rjust(size_bytes))
    return name


async def read(messages: AsyncIterable[Message], sequences: set[int], count: int) -> None:
    """Acknowledge messages until so many different ones were seen."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for message in messages:
            sequences.add(message.metadata.stream_sequence)
            message.ack()
            if len(sequences) >= count:
                return


async def eventually(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    """Return as soon as the condition holds. A server that does not answer, or refuses, counts as false."""
    await eventually_async(condition, what, not_yet=NOT_YET)


async def reachable(jetstream: JetStream) -> None:
    """Return when a domain behind a leaf answers: a leaf that has connected has yet to say what it listens to."""
    await eventually_async(jetstream.account, f"{jetstream.api.prefix} answers", not_yet=NOT_YET)


async def until(condition: Callable[[], object]) -> None:
    """Wait for something that other tasks, or the server, bring about."""
    await eventually_async(lambda: bool(condition()), "what the test waits for", PATIENCE_SECONDS)
