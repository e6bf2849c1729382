"""A worker that runs many small batches, looked at all the while.

Knows how a worker is told to run, and how many batches it says it has run. Does not judge what is seen.
"""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.harness.report import progress
from bench.soaking.processes import Sample, median
from penstock_jetstream import Connection, JetStream
from penstock_jetstream.errors import NoRespondersError
from penstock_worker.engine.service import subject_of
from penstock_worker.policy.settings import (
    BatchSettings,
    ConnectionSettings,
    DriverSettings,
    EngineSettings,
    WorkerSettings,
)
from tests.chaos.worker import Worker
from tests.testbed import run
from tests.worker.engine.working import create_prerequisites

STREAM, CONSUMER, GROUP, WORKER = "soak", "etl", "soak", "w"
BATCH_MESSAGES = 20
BAD_EACH = 1_000
LOOKS = 5
"""At each stage, of which the middle counts."""
LOOK_SECONDS = 0.2
PATIENCE_SECONDS = 600
PUBLISHED_AHEAD = 5_000


@dataclass(frozen=True)
class Stage:
    """How the processes stand after so many batches."""

    batches: int
    seconds: float
    samples: dict[str, Sample]
    """Of `engine`, `driver` and `JVM`."""


def settings(url: str, folder: Path) -> WorkerSettings:
    return WorkerSettings(
        socket=str(folder / "s"),
        connection=ConnectionSettings(servers=(url,)),
        engine=EngineSettings(
            group=GROUP,
            worker=WORKER,
            stream=STREAM,
            consumer=CONSUMER,
            dead_letter_stream=f"{STREAM}-dead",
            dead_letter_subject=f"dead.{STREAM}",
            batch=BatchSettings(max_messages=BATCH_MESSAGES),
        ),
        driver=DriverSettings(
            entrypoint="soak_job:process",
            python_path=(str(Path(__file__).parent),),
            master="local[2]",
            conf={"spark.driver.memory": "512m"},
            work_folder=str(folder / "work"),
        ),
    )


@contextmanager
def working(url: str) -> Iterator[Worker]:
    """Have an engine and a driver run."""
    folder = run.current().new_folder("soak")
    worker = Worker(settings(url, folder), folder, folder / "lake")
    try:
        worker.start()
        yield worker
    finally:
        worker.end()


async def soak(url: str, batches: int, stages: int) -> list[Stage]:
    """Run so many batches, and return how the processes stood at so many moments, evenly apart."""
    async with Connection(url) as connection:
        js = JetStream(connection)
        await _publish(js, batches)
        with working(url) as worker:
            return [await _stage(connection, worker, batches * number // stages) for number in range(1, stages + 1)]


async def _publish(js: JetStream, batches: int) -> None:
    await js.streams.create({"name": STREAM, "subjects": [f"{STREAM}.>"]})
    await create_prerequisites(js, settings("", Path()).engine)
    await js.consumers.create(STREAM, {"durable_name": CONSUMER, "ack_policy": "explicit", "max_ack_pending": -1})
    async with js.publisher(max_in_flight=PUBLISHED_AHEAD) as publisher:
        acks = [await publisher.submit(f"{STREAM}.a", _order(number)) for number in range(batches * BATCH_MESSAGES)]
    for ack in acks:
        ack.result()


def _order(number: int) -> bytes:
    return b"pardon" if number % BAD_EACH == 1 else json.dumps({"id": number, "region": f"r{number % 3}"}).encode()


async def _stage(connection: Connection, worker: Worker, batches: int) -> Stage:
    began = time.monotonic()
    await _until_run(connection, worker, batches)
    looks = []
    for _ in range(LOOKS):
        looks.append(_look(worker))
        await asyncio.sleep(LOOK_SECONDS)
    samples = {name: median([look[name] for look in looks]) for name in looks[0]}
    progress(f"{batches:,} batches: " + ", ".join(f"{name} {one.memory_mib} MiB" for name, one in samples.items()))
    return Stage(batches, time.monotonic() - began, samples)


def _look(worker: Worker) -> dict[str, Sample]:
    jvm = worker.jvm()
    if jvm is None:
        raise RuntimeError(f"There is no JVM:\n{worker.driver.log_tail()}")
    return {
        name: Sample.of(pid)
        for name, pid in {"engine": worker.engine.pid, "driver": worker.driver.pid, "JVM": jvm.pid}.items()
    }


async def _until_run(connection: Connection, worker: Worker, batches: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await _run(connection) < batches:
            for program in (worker.engine, worker.driver):
                if not program.is_running:
                    raise RuntimeError(f"{program.name} {program.how_it_ended()}:\n{program.log_tail()}")
            await asyncio.sleep(LOOK_SECONDS)


async def _run(connection: Connection) -> int:
    """Return how many batches the worker says went well."""
    try:
        reply = await connection.request(subject_of(GROUP, "status", worker=WORKER), b"", timeout_seconds=5)
    except NoRespondersError:
        return 0
    return int(json.loads(reply.payload)["verdicts"].get("ok", 0))
