"""What tests of the engine begin with: a stream, a consumer, a driver that does what the test says, and an engine.

The engine runs in the test's own process (`drained`), or as the process that it is in real life (`program`), where it
has to be killed.
"""

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
from penstock_jetstream.errors import NoRespondersError
from penstock_worker.engine.process import run
from penstock_worker.engine.service import subject_of
from penstock_worker.policy.machine.actions import Stop
from penstock_worker.policy.settings import (
    BatchSettings,
    ConnectionSettings,
    DriverSettings,
    EngineSettings,
    RetrySettings,
    WorkerSettings,
)
from tests.testbed.programs import Program
from tests.worker.scripted_driver import Script, ScriptedDriver

ROOT = Path(__file__).parents[3]
PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 0.02
WITHDRAWN_SECONDS = 5.0
"""Within which a request is, that would last for ten."""
SECOND = 10**9
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
        """Tell the engine something else from now on."""
        self.settings = replace(self.settings, engine=replace(self.settings.engine, **fields))

    def batch_of(self, messages: int) -> None:
        """Have so many messages be one batch from now on, however long the last of them is on its way.

        This holds while another batch runs, and for messages that come again. A driver that is idle gets whatever has
        come so far, which may be a part of what was published: the server sends one message after the other.
        """
        self.change(batch=BatchSettings(max_messages=messages, max_wait_seconds=PATIENCE_SECONDS))

    def connect(self, connection: ConnectionSettings) -> None:
        """Have the engine reach its servers in another way from now on."""
        self.settings = replace(self.settings, connection=connection)

    async def consumer(self, **config: Any) -> None:  # noqa: ANN401 - the server's own fields
        fields = {"durable_name": CONSUMER, "ack_policy": "explicit", "max_ack_pending": -1, **config}
        await self.js.consumers.create(self.stream, fields)

    async def publish(self, *payloads: bytes, subject: str = "a", **options: Any) -> None:  # noqa: ANN401 - of publish
        async with self.js.publisher() as publisher:
            acks = [await publisher.submit(f"{self.stream}.{subject}", data, **options) for data in payloads]
        for ack in acks:
            ack.result()

    async def publish_many(self, count: int) -> None:
        await self.publish(*(b"%d" % number for number in range(1, count + 1)))

    def another(self) -> "Scene":
        """Return another worker of this group, whose driver does what it is given."""
        folder = self.folder / "another"
        folder.mkdir()
        engine = replace(self.settings.engine, worker="etl-1")
        settings = replace(self.settings, engine=engine, socket=str(folder / "driver"))
        return replace(self, folder=folder, script=Script(), settings=settings)

    @contextmanager
    def driver(self) -> Iterator[None]:
        with ScriptedDriver(self.socket, self.script):
            yield

    async def drained(self) -> Stop:
        """Have an engine process all there is, and return what it ended with."""
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

    async def eventually(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition():  # noqa: ASYNC110 - what is waited for happens in other threads and processes
                await asyncio.sleep(PAUSE_SECONDS)

    def program(self, name: str = "engine", *arguments: str) -> Program:
        """Return an engine as a process that has not started yet."""
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(asdict(self.settings)))
        command = [sys.executable, "-m", "penstock_worker.engine", "--settings", str(file), *arguments]
        return Program(name, command, self.folder)

    def driver_process(self, behaviour: str) -> Program:
        """Return a driver that can be killed; it has not started yet."""
        command = [sys.executable, "-m", "tests.worker.scripted_driver", str(self.socket), behaviour]
        return Program("driver", command, self.folder, {"PYTHONPATH": str(ROOT)})

    async def status(self) -> dict[str, Any] | None:
        """Return what the engine says of itself; None while there is none."""
        engine = self.settings.engine
        subject = subject_of(engine.group, "status", worker=engine.worker)
        try:
            reply = await self.js.connection.request(subject, b"", timeout_seconds=PATIENCE_SECONDS)
        except NoRespondersError:
            return None
        told: dict[str, Any] = json.loads(reply.payload)
        return told

    async def until_status(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until the engine says something of itself, and return all that it said."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                told = await self.status()
                if told is not None and condition(told):
                    return told
                await asyncio.sleep(PAUSE_SECONDS)

    # What there is in the end

    async def info(self) -> ConsumerInfo:
        return await self.js.consumers.info(self.stream, CONSUMER)

    async def assert_all_settled(self) -> None:
        """Assert that the server has the final answer for every message."""
        info = await self.info()
        last = (await self.js.streams.info(self.stream)).state.last_sequence
        assert (info.num_pending, info.num_ack_pending) == (0, 0)
        assert info.ack_floor.stream_sequence == last

    async def letters(self) -> list[StoredMessage]:
        """Return the dead letters."""
        last = (await self.js.streams.info(self.dead)).state.last_sequence
        return [await self.js.direct.get(self.dead, sequence=sequence) for sequence in range(1, last + 1)]

    async def until(self, *, pending: int, ack_pending: int = 0) -> None:
        """Wait until the server has so many messages to deliver, and so many that wait for their answer.

        A consumer hears of messages a moment after they are stored: it counts once it has heard of the last.
        """
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                last = (await self.js.streams.info(self.stream)).state.last_sequence
                info = await self.info()
                has_heard = info.delivered.stream_sequence + info.num_pending >= last
                if has_heard and (info.num_pending, info.num_ack_pending) == (pending, ack_pending):
                    return
                await asyncio.sleep(PAUSE_SECONDS)

    async def until_withdrawn(self) -> None:
        """Wait until no request for messages is open at the server, and no longer than one lasts by itself."""
        async with asyncio.timeout(WITHDRAWN_SECONDS):
            while (await self.info()).num_waiting:  # noqa: ASYNC110 - a server's doing
                await asyncio.sleep(PAUSE_SECONDS)


@asynccontextmanager
async def scene(url: str, stream: str, **config: Any) -> AsyncIterator[Scene]:  # noqa: ANN401 - the server's own fields
    """Make a stream; the consumer is the test's to make. The folder is short, as paths of sockets have to be."""
    with TemporaryDirectory(prefix="penstock-") as folder:
        async with Connection(url) as connection:
            js = JetStream(connection)
            await js.streams.create({"name": stream, "subjects": [f"{stream}.>"], "allow_direct": True, **config})
            yield Scene(url, js, stream, Path(folder), Script(), settings(url, stream, Path(folder)))


def settings(url: str, stream: str, folder: Path) -> WorkerSettings:
    """Return quick settings: tests wait for what happens."""
    return WorkerSettings(
        socket=str(folder / "driver"),
        connection=ConnectionSettings(servers=(url,)),
        engine=EngineSettings(
            group="etl",
            worker="etl-0",
            stream=stream,
            consumer=CONSUMER,
            dead_letter_stream=f"{stream}-dead",
            dead_letter_subject=f"dead.{stream}",
            batch=BatchSettings(max_messages=1000, max_wait_seconds=0.05),
            retry=RetrySettings(initial_delay_seconds=0.05, max_delay_seconds=0.2),
            grace_seconds=20,
        ),
        driver=DriverSettings(entrypoint="etl:process", work_folder=str(folder / "work")),
    )
