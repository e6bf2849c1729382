"""The scene of engine tests: a stream, a consumer, a scripted driver, and an engine in this process or in its own."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from penstock_jetstream import Connection, ConsumerInfo, JetStream, StoredMessage
from penstock_jetstream.core.keyvalue import stream_config
from penstock_jetstream.errors import NoRespondersError
from penstock_worker.engine.ledger_store import BUCKET
from penstock_worker.engine.process import run
from penstock_worker.engine.service import subject_of
from penstock_worker.policy.machine.actions import Stop
from penstock_worker.policy.outcome import Outcome
from penstock_worker.policy.settings import (
    BatchSettings,
    ConnectionSettings,
    DriverSettings,
    EngineSettings,
    RetrySettings,
    WorkerSettings,
)
from tests.testbed.programs import Program
from tests.testbed.waiting import WITHIN_SECONDS, eventually_async
from tests.worker.scripted_driver import Gate, Script, ScriptedDriver, driver_process

PATIENCE_SECONDS = float(WITHIN_SECONDS)
SECOND = 10**9
ACK_WAIT = 4 * SECOND
"""Renewed each third of it: an engine or a server may stop for a while, and no message is redelivered."""
CONSUMER = "etl"


@dataclass
class Scene:
    """A stream with a consumer, and all that is needed to work on it."""

    url: str
    js: JetStream
    stream: str
    folder: Path
    script: Script
    settings: WorkerSettings

    @property
    def socket(self) -> Path:
        return self.folder / "driver"

    @property
    def dead(self) -> str:
        """The name of the stream of dead letters."""
        return self.settings.engine.dead_letter_stream

    def change(self, **fields: Any) -> None:  # noqa: ANN401 - fields of EngineSettings
        """Change the settings of engines that start from now on."""
        self.settings = replace(self.settings, engine=replace(self.settings.engine, **fields))

    def batch_of(self, messages: int) -> None:
        """Have exactly so many messages be one batch, while another batch runs and for redelivered messages.

        An idle driver gets what has arrived so far, which may be a part: the server sends one message after the other.
        """
        self.change(batch=BatchSettings(max_messages=messages, max_wait_seconds=PATIENCE_SECONDS))

    def connect(self, connection: ConnectionSettings) -> None:
        """Have engines that start from now on connect in another way."""
        self.settings = replace(self.settings, connection=connection)

    async def create_stream(self) -> None:
        config = {"name": self.stream, "subjects": [f"{self.stream}.>"], "allow_direct": True}
        await self.js.streams.create(config)
        await self.consumer()
        await self.create_prerequisites()

    async def create_prerequisites(self) -> None:
        await create_prerequisites(self.js, self.settings.engine)

    async def consumer(self, **config: Any) -> None:  # noqa: ANN401 - the server's own fields
        fields = {"durable_name": CONSUMER, "ack_policy": "explicit", "max_ack_pending": -1, **config}
        await self.js.consumers.create(self.stream, fields)

    async def replace_consumer(self, **config: Any) -> None:  # noqa: ANN401 - the server's own fields
        """Delete the consumer, and create another one of its name."""
        await self.js.consumers.delete(self.stream, CONSUMER)
        await self.consumer(**config)

    async def publish(self, *payloads: bytes, subject: str = "a", **options: Any) -> None:  # noqa: ANN401 - of publish
        async with self.js.publisher() as publisher:
            acks = [await publisher.submit(f"{self.stream}.{subject}", data, **options) for data in payloads]
        for ack in acks:
            ack.result()

    async def publish_many(self, count: int) -> None:
        await self.publish(*(b"%d" % number for number in range(1, count + 1)))

    def another(self) -> "Scene":
        """Return another worker of this group, with a driver of its own that answers OK."""
        folder = self.folder / "another"
        folder.mkdir()
        engine = replace(self.settings.engine, worker="etl-1")
        settings = replace(self.settings, engine=engine, socket=str(folder / "driver"))
        return replace(self, folder=folder, script=Script(), settings=settings)

    def hold_runs(self, outcome: Outcome | None = None) -> Gate:
        """Have the driver hold each run from now on, until the gate is opened."""
        self.script.process = gate = Gate(outcome)
        return gate

    def handed(self) -> list[int]:
        """Return the sequences of the messages of all runs, sorted: one that was in two runs is there twice."""
        return sorted(sequence for run in self.script.sequences() for sequence in run)

    @contextmanager
    def driver(self) -> Iterator[None]:
        with ScriptedDriver(self.socket, self.script):
            yield

    async def drained(self) -> Stop:
        """Have an engine process everything and end; return what it ended with."""
        self.change(drain=True)
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await run(self.settings)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[asyncio.Task[Stop]]:
        """Have an engine work while the block runs."""
        async with asyncio.TaskGroup() as tasks:  # so that an engine that fails ends the block
            engine = tasks.create_task(run(self.settings))
            yield engine
            engine.cancel()

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[asyncio.Task[Stop]]:
        """Have a driver and an engine work while the block runs."""
        with self.driver():
            async with self.working() as engine:
                yield engine

    async def process_all(self) -> None:
        """Have a worker process everything and end, and assert that each message has its final answer."""
        with self.driver():
            stop = await self.drained()
        assert stop.code == 0
        await self.assert_all_settled()

    async def eventually(self, condition: Callable[[], bool], what: str = "what the test waits for") -> None:
        await eventually_async(condition, what)

    def program(self, name: str = "engine", *arguments: str) -> Program:
        """Return an engine as a process that has not started yet."""
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(asdict(self.settings)))
        command = [sys.executable, "-m", "penstock_worker.engine", "--settings", str(file), *arguments]
        return Program(name, command, self.folder)

    def driver_process(self, behaviour: str) -> Program:
        """Return a driver that can be killed; it has not started yet."""
        return driver_process(self.socket, behaviour)

    async def status(self) -> dict[str, Any] | None:
        """Return the status that the engine reports; None while there is no engine."""
        engine = self.settings.engine
        subject = subject_of(engine.group, "status", worker=engine.worker)
        try:
            reply = await self.js.connection.request(subject, b"", timeout_seconds=PATIENCE_SECONDS)
        except NoRespondersError:
            return None
        status: dict[str, Any] = json.loads(reply.payload)
        return status

    async def until_status(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until the engine reports a status with which the condition holds, and return it."""

        async def matching() -> dict[str, Any] | None:
            status = await self.status()
            assert status is None or condition(status), status
            return status

        return await eventually_async(matching, "a matching status", not_yet=(AssertionError,))

    # The server's view

    async def info(self) -> ConsumerInfo:
        return await self.js.consumers.info(self.stream, CONSUMER)

    async def assert_all_settled(self) -> None:
        """Assert that the server has the final answer for every message."""
        info = await self.info()
        last = (await self.js.streams.info(self.stream)).state.last_sequence
        assert (info.num_pending, info.num_ack_pending) == (0, 0)
        assert info.ack_floor.stream_sequence == last

    async def letters(self) -> list[StoredMessage]:
        last = (await self.js.streams.info(self.dead)).state.last_sequence
        return [await self.js.direct.get(self.dead, sequence=sequence) for sequence in range(1, last + 1)]

    async def until(self, *, pending: int, ack_pending: int = 0) -> None:
        """Wait until the server has so many messages to deliver, and so many that wait for their answer.

        A consumer hears of messages a moment after they are stored: it counts once it has heard of the last.
        """

        async def as_expected() -> bool:
            last = (await self.js.streams.info(self.stream)).state.last_sequence
            info = await self.info()
            has_heard = info.delivered.stream_sequence + info.num_pending >= last
            assert has_heard, f"the consumer has heard of {info.delivered} and {info.num_pending} more, of {last}"
            assert (info.num_pending, info.num_ack_pending) == (pending, ack_pending), info
            return True

        what = f"{pending} messages pending, {ack_pending} unacknowledged"
        await eventually_async(as_expected, what, not_yet=(AssertionError,))


async def create_prerequisites(js: JetStream, engine: EngineSettings, *, replicas: int = 1) -> None:
    """Create what the operator creates: the ledger's bucket and the stream of dead letters."""
    await js.streams.create_or_update(stream_config(BUCKET, {"history": 1, "replicas": replicas}))
    dead = {"name": engine.dead_letter_stream, "subjects": [f"{engine.dead_letter_subject}.>"], "allow_direct": True}
    await js.streams.create_or_update({**dead, "num_replicas": replicas})


@asynccontextmanager
async def scene(url: str, stream: str) -> AsyncIterator[Scene]:
    """Create a stream with a consumer. The folder's path is short because paths of sockets must be."""
    with TemporaryDirectory(prefix="penstock-") as name:
        async with Connection(url) as connection:
            folder = Path(name)
            made = Scene(url, JetStream(connection), stream, folder, Script(), settings(url, stream, folder))
            await made.create_stream()
            yield made


def settings(url: str, stream: str, folder: Path) -> WorkerSettings:
    """Return settings with short pauses."""
    return WorkerSettings(
        socket=str(folder / "driver"),
        connection=ConnectionSettings(servers=(url,)),
        engine=EngineSettings(
            group="etl",
            worker="etl-0",
            stream=stream,
            consumer=CONSUMER,
            dead_letter_stream=f"{stream}-{CONSUMER}-dead",
            dead_letter_subject=f"dead.{stream}.{CONSUMER}",
            batch=BatchSettings(max_messages=1000, max_wait_seconds=0.05),
            retry=RetrySettings(initial_delay_seconds=0.05, max_delay_seconds=0.2),
            grace_seconds=20,
        ),
        driver=DriverSettings(entrypoint="etl:process", work_folder=str(folder / "work")),
    )
