"""A server that is killed in the middle of many messages: each is seen, and each ack is confirmed.

usage: .venv/bin/python -m tests.jetstream.crash [--messages 1000000]

Publishes numbered messages, consumes them through the client library with acks that the server confirms, kills the
server (kill -9) once half of them are confirmed, starts it again, and goes on until the server says that nothing is
left. Keeps a flag for each message, not a count: what is lost and what comes twice cannot make up for each other.
Knows the library and the testbed.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import click

from penstock_jetstream.client.consuming import Consuming, Extras
from penstock_jetstream.client.message import Message
from penstock_jetstream.client.pulling import Source
from penstock_jetstream.core.options import ConsumeOptions
from penstock_jetstream.errors import JetStreamError, LinkError, RequestTimeoutError
from penstock_jetstream.transport.connection import Connection
from tests.testbed.by_hand import opened_run
from tests.testbed.nats.server import NatsServer

STREAM, CONSUMER, SUBJECT = "CRASH", "survivor", "crash"
PUBLISHED_AHEAD = 5_000
WORKERS = 200
"""So many acks are on their way at once."""
ACK_WAIT_SECONDS = 3
CONFIRMATION_SECONDS = 1
LOOK_SECONDS = 0.1
SECOND = 1_000_000_000
PATIENCE_SECONDS = 60
"""How long nothing may change before this is given up."""


@dataclass
class Tally:
    """What has become of each message, by its number."""

    messages: int
    deliveries: int = 0
    unanswered: dict[int, Message] = field(default_factory=dict)
    """Deliveries whose ack the server did not confirm in time, by the number of the message; the last of each."""
    unanswered_acks: int = 0
    reports: list[JetStreamError] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seen = bytearray(self.messages)
        self.confirmed = bytearray(self.messages)
        self.half_confirmed = asyncio.Event()
        self._confirmed_count = 0

    def deliver(self, number: int) -> None:
        self.deliveries += 1
        self.seen[number] = 1

    def confirm(self, number: int) -> None:
        self._confirmed_count += not self.confirmed[number]
        self.confirmed[number] = 1
        if self._confirmed_count >= self.messages // 2:
            self.half_confirmed.set()


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    messages: int
    seen: int
    confirmed: int
    deliveries: int
    unanswered_acks: int
    """Of deliveries, mostly, that the server had forgotten when it came back."""
    ack_floor: int
    """Up to which message the server has all acks."""
    left: int
    """Messages that the server still has to deliver, or to be acked."""
    publish_seconds: float
    consume_seconds: float
    """With the time that the server was dead."""
    reports: int

    @property
    def is_complete(self) -> bool:
        return self.seen == self.confirmed == self.ack_floor == self.messages and self.left == 0


async def survive(server: NatsServer, messages: int) -> Outcome:
    """Publish, consume, kill and restart on a server that runs; return what it came to."""
    async with Connection(server.url, name="crash") as connection:
        began = time.monotonic()
        await create(connection)
        await publish(connection, messages)
        published = time.monotonic()
        tally = Tally(messages)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(kill_and_restart(server, tally.half_confirmed))
            await consume(connection, tally)
        info = await ask(connection, f"CONSUMER.INFO.{STREAM}.{CONSUMER}")
    return Outcome(
        messages,
        sum(tally.seen),
        sum(tally.confirmed),
        tally.deliveries,
        tally.unanswered_acks,
        info["ack_floor"]["stream_seq"],
        info["num_pending"] + info["num_ack_pending"],
        published - began,
        time.monotonic() - published,
        len(tally.reports),
    )


async def ask(connection: Connection, operation: str, body: object = None) -> dict[str, Any]:
    payload = b"" if body is None else json.dumps(body).encode()
    answer: dict[str, Any] = json.loads((await connection.request(f"$JS.API.{operation}", payload)).payload)
    if "error" in answer:
        raise RuntimeError(f"{operation}: {answer['error']}")
    return answer


async def create(connection: Connection) -> None:
    await ask(connection, f"STREAM.CREATE.{STREAM}", {"name": STREAM, "subjects": [SUBJECT]})
    config = {
        "durable_name": CONSUMER,
        "ack_policy": "explicit",
        "ack_wait": ACK_WAIT_SECONDS * SECOND,
        "max_ack_pending": -1,
    }
    await ask(connection, f"CONSUMER.CREATE.{STREAM}.{CONSUMER}", {"stream_name": STREAM, "config": config})


async def publish(connection: Connection, messages: int) -> None:
    """Store the numbers from 0 up, and return when the stream has confirmed each."""
    inbox = connection.new_inbox()
    window = asyncio.Semaphore(PUBLISHED_AHEAD)
    stored = bytearray(messages)

    def confirmed(_subject: bytes, _reply: bytes, _header: bytes, payload: bytes) -> None:
        stored[json.loads(payload)["seq"] - 1] = 1
        window.release()

    subscription = connection.subscribe(inbox, confirmed)
    for number in range(messages):
        await window.acquire()
        connection.publish(SUBJECT, b"%d" % number, reply=inbox)
    for _ in range(PUBLISHED_AHEAD):
        await window.acquire()
    subscription.unsubscribe()
    if sum(stored) != messages:
        raise RuntimeError(f"Of {messages} messages {sum(stored)} were stored")


async def kill_and_restart(server: NatsServer, when: asyncio.Event) -> None:
    await when.wait()
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)


async def consume(connection: Connection, tally: Tally) -> None:
    async with consuming(connection, tally) as messages, asyncio.TaskGroup() as workers:
        for _ in range(WORKERS):
            workers.create_task(work(messages, tally))
        await until_nothing_is_left(connection, tally)
        messages.stop()


@asynccontextmanager
async def consuming(connection: Connection, tally: Tally) -> AsyncIterator[Consuming]:
    source = Source(connection, STREAM, CONSUMER, f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{CONSUMER}")
    extras = Extras(on_report=tally.reports.append, ack_wait_seconds=ACK_WAIT_SECONDS)

    async def exists() -> bool:
        return True

    options = ConsumeOptions.for_worker(max_messages=2 * WORKERS)
    async with Consuming(source, options, extras, exists) as messages:
        yield messages


async def work(messages: Consuming, tally: Tally) -> None:
    async for message in messages:
        number = int(message.data)
        tally.deliver(number)
        if await is_confirmed(message):
            tally.confirm(number)
        else:
            tally.unanswered[number] = message
            tally.unanswered_acks += 1


async def is_confirmed(message: Message) -> bool:
    """Ack, and tell whether the server has confirmed it; if the link is lost meanwhile, no one knows, so ack again.

    A server that was killed has forgotten what it had not written down yet. It does not answer acks of what it thinks
    it has not delivered: it delivers that again.
    """
    while True:
        try:
            await message.double_ack(CONFIRMATION_SECONDS)
        except LinkError:
            continue
        except RequestTimeoutError:
            return False
        return True


async def until_nothing_is_left(connection: Connection, tally: Tally) -> None:
    """Return when each ack is confirmed, and the server has nothing to deliver and waits for no ack."""
    deliveries, changed_at = 0, time.monotonic()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        if tally.half_confirmed.is_set() and await has_nothing_left(connection):
            await ask_again(tally)
            if all(tally.confirmed):
                return
        if tally.deliveries != deliveries:
            deliveries, changed_at = tally.deliveries, time.monotonic()
        if time.monotonic() - changed_at > PATIENCE_SECONDS:
            raise TimeoutError(f"Nothing has come for {PATIENCE_SECONDS} s: {sum(tally.confirmed)} are confirmed")


async def ask_again(tally: Tally) -> None:
    """Have acks confirmed whose confirmation was only late: the server waits for none, so it has them."""
    for number, message in tally.unanswered.items():
        if not tally.confirmed[number] and await is_confirmed(message):
            tally.confirm(number)


async def has_nothing_left(connection: Connection) -> bool:
    try:
        info = await ask(connection, f"CONSUMER.INFO.{STREAM}.{CONSUMER}")
    except JetStreamError:  # it is dead, or has not come back to all of itself
        return False
    return not info["num_pending"] + info["num_ack_pending"]


@click.command()
@click.option("--messages", default=1_000_000, show_default=True)
def main(messages: int) -> None:
    """Kill a server in the middle of many messages, and show what became of each."""
    with opened_run():
        server = NatsServer()
        server.start()
        outcome = asyncio.run(survive(server, messages))
        server.close()
    click.echo(report(outcome))
    if not outcome.is_complete:
        raise SystemExit(1)


def report(outcome: Outcome) -> str:
    rows = {
        "messages published and stored": f"{outcome.messages} in {outcome.publish_seconds:.1f} s",
        "of them seen": outcome.seen,
        "of them with a confirmed ack": outcome.confirmed,
        "the server has all acks up to": outcome.ack_floor,
        "the server has left to do": outcome.left,
        "delivered more than once": outcome.deliveries - outcome.messages,
        "acks that were not confirmed in time": outcome.unanswered_acks,
        "reports of the library": outcome.reports,
        "consumed, with the server's death, in": f"{outcome.consume_seconds:.1f} s",
    }
    lines = [f"{name:<40}{value:>24}" for name, value in rows.items()]
    return "\n".join([*lines, "", "complete" if outcome.is_complete else "NOT COMPLETE"])


if __name__ == "__main__":
    main()
