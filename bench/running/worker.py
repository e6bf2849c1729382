"""Our worker: engine and driver as processes, told by a settings file, as users get them.

The driver with its Spark lives for the whole benchmark, as in real life. An engine is started for each run, on a
consumer that is paused; the clock runs from when the consumer is resumed until the server has no message to deliver and
no ack pending.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from bench.running.asking import environment
from bench.running.job import FOLDER_VARIABLE
from bench.running.runs import Run, metered
from penstock_jetstream import Connection, JetStream
from penstock_jetstream.client.consumers import Consumers
from penstock_worker.exchange.client import DriverClient, DriverLostError
from penstock_worker.policy.machine.collecting import BESIDE
from penstock_worker.policy.settings import (
    BatchSettings,
    ConnectionSettings,
    DriverSettings,
    EngineSettings,
    WorkerSettings,
)
from tests.testbed import run
from tests.testbed.nats.server import NatsServer
from tests.testbed.programs import Program
from tests.worker.engine.working import create_prerequisites
from tools.environment import ROOT

START_SECONDS = 120
PAUSE_SECONDS = 0.02
PAUSED_HOURS = 1
IN_FLIGHT = 2
ACK_WAIT_NANOSECONDS = 60_000_000_000


class Worker:
    """One worker; its driver lives for its `with`."""

    def __init__(self, python: Path, nats: NatsServer, function: str) -> None:
        self.folder = run.current().new_folder("worker")
        self.lake = self.folder / "lake"
        self._python, self._nats, self._function = python, nats, function
        self._env = {**environment(self.folder), FOLDER_VARIABLE: str(self.lake)}
        self._driver = self._program("driver", "penstock_worker.driver.main", self._settings("none", "none", 1))

    def __enter__(self) -> Self:
        self._driver.start()
        client = DriverClient(str(self.folder / "s"))

        def is_ready() -> bool:
            try:
                return client.describe().ready
            except DriverLostError:
                return False

        self._driver.wait_ready(is_ready, START_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._driver.stop()

    def run(self, stream: str, consumer: str, messages: int, batch: int) -> Run:
        """Have a stream of so many messages processed on a new consumer; what is written is in `lake / consumer`."""
        return asyncio.run(self._run(stream, consumer, messages, batch))

    async def _run(self, stream: str, consumer: str, messages: int, batch: int) -> Run:
        async with self.waiting(stream, consumer, batch) as (consumers, engine):
            with metered({"server": self._nats.pid, "engine": engine.pid, "driver": self._driver.pid}) as taken:
                started = time.perf_counter()
                await consumers.resume(stream, consumer)
                await settled(consumers, stream, consumer)
                seconds = time.perf_counter() - started
        return Run(messages, seconds, taken)

    @asynccontextmanager
    async def waiting(self, stream: str, consumer: str, batch: int) -> AsyncIterator[tuple[Consumers, Program]]:
        """Have an engine wait for messages of a new consumer that is paused."""
        engine = self._program(consumer, "penstock_worker.engine", self._settings(stream, consumer, batch))
        async with Connection(self._nats.url) as connection:
            consumers = JetStream(connection).consumers
            await consumers.create(stream, consumer_config(consumer, batch))
            await create_prerequisites(JetStream(connection), self._settings(stream, consumer, batch).engine)
            await consumers.pause(stream, consumer, datetime.now(UTC) + timedelta(hours=PAUSED_HOURS))
            engine.start()
            try:
                while not (await consumers.info(stream, consumer)).num_waiting:  # noqa: ASYNC110 - of another process
                    await asyncio.sleep(PAUSE_SECONDS)
                yield consumers, engine
            finally:
                engine.stop()
            await consumers.delete(stream, consumer)

    def _settings(self, stream: str, consumer: str, batch: int) -> WorkerSettings:
        return WorkerSettings(
            socket=str(self.folder / "s"),
            connection=ConnectionSettings(servers=(self._nats.url,)),
            engine=EngineSettings(
                group="bench",
                worker="bench-0",
                stream=stream,
                consumer=consumer,
                dead_letter_stream=f"{stream}-dead",
                dead_letter_subject=f"dead.{stream}",
                batch=BatchSettings(max_messages=batch, in_flight=IN_FLIGHT),
            ),
            driver=DriverSettings(
                entrypoint=self._function,
                python_path=(str(ROOT),),
                in_flight=IN_FLIGHT,
                work_folder=str(self.folder / "work"),
            ),
        )

    def _program(self, name: str, module: str, settings: WorkerSettings) -> Program:
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(asdict(settings)))
        return Program(name, [str(self._python), "-m", module, "--settings", str(file)], self.folder, self._env)


async def settled(consumers: Consumers, stream: str, consumer: str) -> None:
    """Wait until the server has no message to deliver, and none that waits for its answer."""
    while (info := await consumers.info(stream, consumer)).num_pending or info.num_ack_pending:  # noqa: ASYNC110
        await asyncio.sleep(PAUSE_SECONDS)


def consumer_config(name: str, batch: int) -> dict[str, str | int]:
    """Return a consumer that gives as many as a worker holds: those in flight, one that is settled, and the next."""
    return {
        "durable_name": name,
        "ack_policy": "explicit",
        "ack_wait": ACK_WAIT_NANOSECONDS,
        "max_ack_pending": (IN_FLIGHT + BESIDE) * batch,
    }
