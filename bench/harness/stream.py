"""A server with a stream of messages to consume, all alike."""

from collections.abc import Iterator
from contextlib import contextmanager

from bench.harness.report import progress
from bench.harness.whole import measuring
from penstock_jetstream import Connection, JetStream
from penstock_jetstream.core import wire
from tests.testbed.nats.server import NatsServer

STREAM = "BENCH"
SUBJECT = "bench.m"
CONFIRMED_EACH = 1000
"""A flood that nobody confirms overruns the server's queue."""


@contextmanager
def server() -> Iterator[NatsServer]:
    with measuring():
        nats = NatsServer()
        try:
            nats.start()
            yield nats
        finally:
            nats.close()


async def load(url: str, *, messages: int, size_bytes: int) -> None:
    """Make the stream, and publish so many messages of one size."""
    progress(f"publishing {messages:,} messages of {size_bytes} bytes …")
    payload = b"x" * size_bytes
    async with Connection(url) as connection:
        js = JetStream(connection)
        await js.streams.create({"name": STREAM, "subjects": [SUBJECT], "storage": "file"})
        for _ in range(messages // CONFIRMED_EACH):
            connection.send(wire.publish_same([SUBJECT.encode()] * (CONFIRMED_EACH - 1), payload))
            await js.publish(SUBJECT, payload)
        info = await js.streams.info(STREAM)
        if info.state.messages != messages:
            raise RuntimeError(f"The stream has {info.state.messages} messages where {messages} were published.")
