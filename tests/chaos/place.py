"""Where chaos happens: a stream with a consumer, and workers that are kept alive."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from penstock_jetstream import Connection, JetStream
from penstock_jetstream.errors import JetStreamError
from penstock_worker.policy.settings import BatchSettings, ConnectionSettings, RetrySettings, WorkerSettings
from tests.chaos.accounting import Account, Sinks
from tests.chaos.site import STREAM, Site
from tests.chaos.steps import Steps
from tests.chaos.worker import CODE, Worker
from tests.testbed import run
from tests.testbed.spark.connect import ConnectServer
from tests.testbed.waiting import eventually_async
from tests.worker.driver.driving import QUICK
from tests.worker.engine.working import CONSUMER, SECOND, create_prerequisites, settings

CONNECT = "sc"
GRACE_SECONDS = 5
HANG_SECONDS = 2
KEEP_SECONDS = 0.1
DRAIN_SECONDS = 600
"""How long a server may have something left, or no answer: then the round is over, and has failed."""
PUBLISHED_AHEAD = 5_000
AHEAD_BYTES = 32 << 20


T = TypeVar("T")

BATCH = BatchSettings(max_messages=2_000, max_wait_seconds=0.05, deadline_seconds=60)
RETRY = RetrySettings(initial_delay_seconds=0.2, max_delay_seconds=2)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a place is like."""

    workers: int = 1
    entrypoint: str = "chaos_job:process"
    master: str = "local[2]"
    """Or `sc`: a Connect server is started."""
    conf: Mapping[str, str] = field(default_factory=lambda: dict(QUICK))
    ack_wait_seconds: float = 5
    max_ack_pending: int = -1
    batch: BatchSettings = BATCH
    retry: RetrySettings = RETRY


@dataclass(frozen=True)
class Draft:
    """A message to be published."""

    data: bytes
    headers: Mapping[str, str | Sequence[str]] = field(default_factory=dict)


@dataclass
class Place:
    """One that is there."""

    shape: Shape
    site: Site
    js: JetStream
    folder: Path
    steps: Steps
    sinks: Sinks
    workers: list[Worker] = field(default_factory=list)
    published: int = 0
    dead: Counter[int] = field(default_factory=Counter)
    """How many dead letters each message has."""
    spark: ConnectServer | None = None

    def worker(self, name: str) -> Worker:
        return next((worker for worker in self.workers if worker.name == name), self.workers[0])

    async def publish(self, count: int, other: Mapping[int, Draft] | None = None) -> None:
        """Publish numbers, each that of its message; or something else, for some of them, counted from 1."""
        last, drafts = self.published + count, {self.published + place: one for place, one in (other or {}).items()}
        while self.published < last:
            with contextlib.suppress(JetStreamError):  # servers elect a leader; what they have is read below
                await self._publish(range(self.published + 1, last + 1), drafts)
            self.published = (await patiently(lambda: self.js.streams.info(STREAM))).state.last_sequence

    async def _publish(self, numbers: Sequence[int], drafts: Mapping[int, Draft]) -> None:
        largest = max((len(draft.data) for draft in drafts.values()), default=1)
        ahead = max(1, min(PUBLISHED_AHEAD, AHEAD_BYTES // max(largest, 1)))
        async with self.js.publisher(max_in_flight=ahead) as publisher:
            in_order = (drafts.get(number) or Draft(b"%d" % number) for number in numbers)
            acks = [await publisher.submit(f"{STREAM}.a", one.data, headers=one.headers) for one in in_order]
        failures = [failure for ack in acks if (failure := ack.exception())]
        for number, ack in zip(numbers, acks, strict=True):
            if not ack.exception() and ack.result().sequence != number:
                raise RuntimeError(f"The message {number} was stored as {ack.result().sequence}.")
        if failures:
            raise failures[0]

    async def create_consumer(self) -> None:
        consumer: dict[str, Any] = {
            "durable_name": CONSUMER,
            "ack_policy": "explicit",
            "ack_wait": int(self.shape.ack_wait_seconds * SECOND),
            "max_ack_pending": self.shape.max_ack_pending,
        }
        await self.js.consumers.create(STREAM, consumer)

    async def create_prerequisites(self) -> None:
        engine = settings(self.site.urls[0], STREAM, self.folder).engine
        await create_prerequisites(self.js, engine, replicas=len(self.site.nodes))

    async def drained(self, most_left: int = 0) -> None:
        """Wait until the server has the final answer for every message, or for all but a few."""

        async def is_drained() -> bool:
            return await self.left() <= most_left

        what = f"the server has the final answer for all messages but {most_left}"
        await eventually_async(is_drained, what, DRAIN_SECONDS)

    async def left(self) -> int:
        """Return how many messages the server has yet to deliver, or waits for an answer of.

        A consumer hears of messages a moment after they are stored: those that it has not heard of are left, too.
        """
        last = (await patiently(lambda: self.js.streams.info(STREAM))).state.last_sequence
        info = await patiently(lambda: self.js.consumers.info(STREAM, CONSUMER))
        return max(info.num_pending, last - info.delivered.stream_sequence) + info.num_ack_pending

    async def read_dead(self) -> None:
        """Take in the dead letters that have come since."""
        name = f"{STREAM}-{CONSUMER}-dead"
        last = (await patiently(lambda: self.js.streams.info(name))).state.last_sequence
        for sequence in range(self.dead.total() + 1, last + 1):
            letter = await patiently(partial(self.js.direct.get, name, sequence=sequence))
            self.dead[int(letter.headers["Penstock-Sequence"])] += 1

    async def account(self, first: int) -> Account:
        """Return the account of all messages from one on."""
        await asyncio.to_thread(self.sinks.read)
        await self.read_dead()
        return self.sinks.account(first, self.published, self.dead, await self.left())

    def told_of_batches_twice(self) -> str:
        """Return the batches that share messages, and what the engines logged of them."""
        batches = self.sinks.batches_twice()
        logs = [worker.engine.log.read_text().splitlines() for worker in self.workers]
        lines = [line for log in logs for line in log if any(batch in line for batch in batches)]
        return "\n".join(map(str, (*batches.items(), *lines)))

    async def at_rest(self) -> None:
        """Have all workers end politely, so that nothing is written any more."""
        for worker in self.workers:
            worker.leave()
        await asyncio.gather(*(asyncio.to_thread(worker.terminate) for worker in self.workers))

    def end(self) -> None:
        for worker in self.workers:
            worker.end()


async def patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until there is an answer: servers are dead at the moment, or have no leader yet."""
    return await eventually_async(ask, "an answer of the servers", DRAIN_SECONDS, not_yet=(JetStreamError,))


@asynccontextmanager
async def place(shape: Shape, site: Site) -> AsyncIterator[Place]:
    """Make a place on servers that run, and start its workers."""
    folder = run.current().new_folder("chaos")
    sinks = folder / "sinks"
    sinks.mkdir()
    async with Connection(site.urls) as connection:
        steps = Steps(sinks / "steps")
        steps.watch(connection, STREAM, CONSUMER)
        made = Place(shape, site, JetStream(connection), folder, steps, Sinks(sinks))
        await _streams(made)
        if shape.master == CONNECT:
            made.spark = ConnectServer(run.current().new_folder("chaos-connect"))
            await asyncio.to_thread(made.spark.start)
        made.workers = [Worker(_settings(made, number), folder, sinks) for number in range(shape.workers)]
        tasks = [asyncio.create_task(steps.read())]
        try:
            for worker in made.workers:
                worker.start()
            tasks.append(asyncio.create_task(_keep(made)))
            yield made
        finally:
            for task in tasks:
                task.cancel()
            made.end()
            if made.spark is not None:
                made.spark.program.kill()


async def _streams(made: Place) -> None:
    replicas = len(made.site.nodes)
    config = {"name": STREAM, "subjects": [f"{STREAM}.>"], "allow_direct": True, "num_replicas": replicas}
    await made.js.streams.create(config)
    await made.create_consumer()
    await made.create_prerequisites()


def _settings(made: Place, number: int) -> WorkerSettings:
    name, shape = f"w{number}", made.shape
    own = made.folder / name
    own.mkdir()
    usual = settings(made.site.urls[0], STREAM, own)
    engine = replace(usual.engine, worker=name, batch=shape.batch, retry=shape.retry, grace_seconds=GRACE_SECONDS)
    driver = replace(
        usual.driver,
        entrypoint=shape.entrypoint,
        python_path=(str(CODE),),
        master=shape.master if made.spark is None else made.spark.url,
        conf=dict(shape.conf) if made.spark is None else {},
        in_flight=shape.batch.in_flight,
        hang_seconds=HANG_SECONDS,
    )
    connection = ConnectionSettings(servers=made.site.worker_urls)
    return replace(usual, connection=connection, engine=engine, driver=driver)


async def _keep(made: Place) -> None:
    """Start again what ends, as a kubelet does."""
    while True:
        for worker in made.workers:
            await asyncio.to_thread(worker.keep)
        await asyncio.sleep(KEEP_SECONDS)  # calm: a loop like a kubelet's
