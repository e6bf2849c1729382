"""A server is killed in the middle of many messages: each message is seen, and each ack is confirmed.

usage: .venv/bin/python -m tests.jetstream.crash [--messages 1000000] [--by lane]

Publishes numbered messages, consumes them with acks that the server confirms, one by one or by the block, kills the
server (kill -9) once half of them are seen, starts it again, and goes on until the server says that nothing is
left. Keeps a flag for each message, not a count: what is lost and what comes twice cannot make up for each other.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import click

from penstock_jetstream import Connection, Consumer, JetStream, PubAck
from penstock_jetstream.errors import JetStreamError, LinkError, RequestTimeoutError
from tests.testbed.by_hand import opened_run
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import WITHIN_SECONDS, eventually_async

STREAM, CONSUMER, SUBJECT = "CRASH", "survivor", "crash"
ACKS_AHEAD = 200
"""Messages whose acks are on their way at once, where each is confirmed by itself."""
BUFFERED_MESSAGES = 400
BUFFERED_BLOCK_MESSAGES = 4_000
PUBLISHED_AHEAD = 5_000
ACK_WAIT_SECONDS = 3
CONFIRMATION_SECONDS = 1
SECOND = 1_000_000_000
SLOWEST_PER_SECOND = 500


@dataclass
class Tally:
    """The state of each message, by its number."""

    messages: int
    deliveries: int = 0
    unanswered: dict[int, bytes] = field(default_factory=dict)
    """Ack tokens of deliveries that were not confirmed in time, by the number of the message; the last of each."""
    unanswered_acks: int = 0
    reports: list[JetStreamError] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seen = bytearray(self.messages)
        self.confirmed = bytearray(self.messages)
        self.half_seen = asyncio.Event()
        self._seen_count = 0

    def deliver(self, numbers: Sequence[int]) -> None:
        self.deliveries += len(numbers)
        for number in numbers:
            self._seen_count += not self.seen[number]
            self.seen[number] = 1
        if self._seen_count >= self.messages // 2:
            self.half_seen.set()

    def confirm(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self.confirmed[number] = 1

    def miss(self, numbers: Sequence[int], replies: Sequence[bytes]) -> None:
        self.unanswered.update(zip(numbers, replies, strict=True))
        self.unanswered_acks += len(numbers)


@dataclass(frozen=True)
class Outcome:
    """The result of a run."""

    tally: Tally
    ack_floor: int
    """Up to which message the server has all acks."""
    left: int
    """Messages that the server still has to deliver, or to be acked."""
    publish_seconds: float
    consume_seconds: float
    """With the time that the server was dead."""

    @property
    def is_complete(self) -> bool:
        seen, confirmed, messages = sum(self.tally.seen), sum(self.tally.confirmed), self.tally.messages
        return seen == confirmed == self.ack_floor == messages and self.left == 0


Reader = Callable[[Consumer, Tally], Coroutine[Any, Any, None]]
"""Reads a consumer and has acks confirmed, until it is cancelled."""


async def survive(server: NatsServer, messages: int, read: Reader) -> Outcome:
    """Publish, consume, kill and restart on a server that runs; return what it came to."""
    async with Connection(server.url, name="crash") as connection:
        js = JetStream(connection)
        began = time.monotonic()
        await publish(js, messages)
        published = time.monotonic()
        config = {"durable_name": CONSUMER, "ack_policy": "explicit", "ack_wait": ACK_WAIT_SECONDS * SECOND}
        await js.consumers.create(STREAM, {**config, "max_ack_pending": -1})
        consumer = js.consumer(STREAM, CONSUMER)
        tally = Tally(messages)
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(read(consumer, tally))
            tasks.create_task(kill_and_restart(server, tally.half_seen))
            nothing_is_left = partial(has_nothing_left, connection, consumer, tally)
            within = WITHIN_SECONDS + messages / SLOWEST_PER_SECOND
            await eventually_async(nothing_is_left, "each ack is confirmed", within)
            reading.cancel()
        info = await consumer.info()
    left = info.num_pending + info.num_ack_pending
    seconds = (published - began, time.monotonic() - published)
    return Outcome(tally, info.ack_floor.stream_sequence, left, *seconds)


async def publish(js: JetStream, messages: int) -> None:
    """Store the numbers from 0 up, and return when the stream has confirmed each."""
    await js.streams.create({"name": STREAM, "subjects": [SUBJECT]})
    stored = bytearray(messages)
    acks: deque[asyncio.Future[PubAck]] = deque()

    def take_down() -> None:
        while acks and acks[0].done():
            stored[acks.popleft().result().sequence - 1] = 1

    async with js.publisher(max_in_flight=PUBLISHED_AHEAD) as publisher:
        for number in range(messages):
            acks.append(await publisher.submit(SUBJECT, b"%d" % number))
            take_down()
    take_down()
    if sum(stored) != messages:
        raise RuntimeError(f"Of {messages} messages {sum(stored)} were stored")


async def kill_and_restart(server: NatsServer, when: asyncio.Event) -> None:
    await when.wait()
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)


async def read_messages(consumer: Consumer, tally: Tally) -> None:
    """Have each message confirmed by itself, many at once."""
    messages = consumer.consume(
        max_messages=BUFFERED_MESSAGES, on_report=tally.reports.append, ack_wait_seconds=ACK_WAIT_SECONDS
    )

    async def work() -> None:
        async for message in messages:
            ack = partial(message.double_ack, timeout_seconds=CONFIRMATION_SECONDS)
            await settle([message.data], [message.raw_reply], ack, tally)

    async with messages, asyncio.TaskGroup() as workers:
        for _ in range(ACKS_AHEAD):
            workers.create_task(work())


async def read_blocks(consumer: Consumer, tally: Tally) -> None:
    """Have each block confirmed as a whole."""
    async with consumer.lane(max_messages=BUFFERED_BLOCK_MESSAGES, on_report=tally.reports.append) as lane:
        async for block in lane:
            ack = partial(lane.settle, block.replies, timeout_seconds=CONFIRMATION_SECONDS)
            await settle(block.payloads, block.replies, ack, tally)


READERS: dict[str, Reader] = {"message": read_messages, "lane": read_blocks}


async def settle(
    payloads: Sequence[bytes], replies: Sequence[bytes], ack: Callable[[], Awaitable[object]], tally: Tally
) -> None:
    """Ack messages that were delivered together until the server has confirmed it, also over another link.

    A server that was killed has forgotten what it had not written down yet. It does not answer acks of what it thinks
    it has not delivered: it delivers that again.
    """
    numbers = [int(payload) for payload in payloads]
    tally.deliver(numbers)
    while True:
        try:
            await ack()
        except LinkError:
            continue
        except RequestTimeoutError:
            tally.miss(numbers, replies)
        else:
            tally.confirm(numbers)
        return


async def has_nothing_left(connection: Connection, consumer: Consumer, tally: Tally) -> bool:
    """Tell whether each ack is confirmed, and the server has nothing to deliver and waits for no ack."""
    if not tally.half_seen.is_set():
        return False
    try:
        info = await consumer.info()
    except JetStreamError:  # the server is dead, or has not restored all of its state
        return False
    if info.num_pending + info.num_ack_pending:
        return False
    await ask_again(connection, tally)
    return all(tally.confirmed)


async def ask_again(connection: Connection, tally: Tally) -> None:
    """Have acks confirmed whose confirmation was only late: the server waits for none, so it has them."""
    for number, reply in tally.unanswered.items():
        if not tally.confirmed[number]:
            await connection.request(reply.decode(), b"+ACK")
            tally.confirm([number])


@click.command()
@click.option("--messages", default=1_000_000, show_default=True)
@click.option("--by", type=click.Choice(list(READERS)), default="message", show_default=True)
def main(messages: int, by: str) -> None:
    """Kill a server in the middle of many messages, and show what became of each."""
    with opened_run():
        server = NatsServer()
        server.start()
        outcome = asyncio.run(survive(server, messages, READERS[by]))
        server.close()
    click.echo(report(outcome))
    if not outcome.is_complete:
        raise SystemExit(1)


def report(outcome: Outcome) -> str:
    tally = outcome.tally
    rows = {
        "messages published and stored": f"{tally.messages} in {outcome.publish_seconds:.1f} s",
        "of them seen": sum(tally.seen),
        "of them with a confirmed ack": sum(tally.confirmed),
        "the server has all acks up to": outcome.ack_floor,
        "the server has left to do": outcome.left,
        "delivered more than once": tally.deliveries - tally.messages,
        "acks that were not confirmed in time": tally.unanswered_acks,
        "reports of the library": len(tally.reports),
        "consumed, with the server's death, in": f"{outcome.consume_seconds:.1f} s",
    }
    lines = [f"{name:<40}{value:>24}" for name, value in rows.items()]
    return "\n".join([*lines, "", "complete" if outcome.is_complete else "NOT COMPLETE"])


if __name__ == "__main__":
    main()
