"""A real driver as a process of its own, with the engine's client at the other end of its socket.

Knows settings and the exchange. Does not know what the user's code does (code/jobs.py).
"""

import dataclasses
import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Self

import psutil
import pyarrow as pa

from penstock_worker.exchange.client import DriverClient, DriverLostError
from penstock_worker.exchange.columns import COLUMNS
from penstock_worker.exchange.records import Description, Handed, RunName
from penstock_worker.policy.outcome import Outcome
from penstock_worker.policy.settings import ConnectionSettings, DriverSettings, EngineSettings, WorkerSettings
from tests.testbed import run
from tests.testbed.processes import program
from tests.testbed.programs import Program
from tests.testbed.waiting import eventually

START_SECONDS = 300
"""On a machine that does much else, a JVM takes a minute, and so does its first batch."""
LONG_SECONDS = 300
CODE = Path(__file__).with_name("code")
JOBS = "jobs:process"
QUICK: Mapping[str, str] = {
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.app.name": "ours",
}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
batches = count(1)


class RunningDriver:
    """A driver for tests; starts with its `with`, and ends with it."""

    def __init__(self, name: str = "driver", **settings: object) -> None:
        self.folder = run.current().new_folder(name)
        self.jobs_folder = self.folder / "jobs"
        self.jobs_folder.mkdir()
        chosen = {"entrypoint": JOBS, "python_path": (str(CODE),), "master": "local[2]", "conf": dict(QUICK)} | settings
        self.settings = WorkerSettings(
            socket=str(self.folder / "s"),
            connection=ConnectionSettings(servers=("nats://127.0.0.1:4222",)),
            engine=EngineSettings(
                group="g", worker="w", stream="S", consumer="c", dead_letter_stream="D", dead_letter_subject="d"
            ),
            driver=DriverSettings(work_folder=str(self.folder / "work"), **chosen),  # type: ignore[arg-type]
        )
        file = self.folder / "settings.json"
        file.write_text(json.dumps(dataclasses.asdict(self.settings)))
        command = [sys.executable, "-m", "penstock_worker.driver.main", "--settings", str(file)]
        self.program = Program(name, command, self.folder, {"JOBS_FOLDER": str(self.jobs_folder)})
        self.client = DriverClient(self.settings.socket)

    def __enter__(self) -> Self:
        self.program.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        if self.program.is_running:
            self.program.kill()

    def describe(self) -> Description | None:
        """Return what it says of itself; None if it is not there."""
        try:
            return self.client.describe()
        except DriverLostError:
            return None

    def wait_ready(self) -> None:
        self.program.wait_ready(self.is_ready, START_SECONDS)

    def is_ready(self) -> bool:
        said = self.describe()
        assert said is None or not said.permanent, said
        return said is not None and said.ready

    def run(self, job: str, texts: tuple[str, ...] = ("a", "b"), **facts: object) -> Outcome:
        """Have a job done with a batch of its own."""
        batch = handed(job, len(texts), **facts)
        outcome = self.client.run(batch, rows(texts), timeout_seconds=LONG_SECONDS)
        self.client.forget(batch.name)
        return outcome

    def jvm(self) -> psutil.Process:
        """Return its JVM, once there is one and no other: one that was killed may be on its way out."""
        found: list[psutil.Process] = []

        def is_one() -> bool:
            found[:] = [child for child in self.children() if program(child) == "java"]
            return len(found) == 1

        eventually(is_one, "there is one JVM", LONG_SECONDS)
        return found[0]

    def losses(self) -> int:
        """Return how often Spark was noticed to be lost while nothing ran; it is known to be by then."""
        return self.program.log.read_text().count("Spark is lost: ")

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.program.pid).children(recursive=True)

    def wait_said(self, what: str) -> None:
        eventually(lambda: what in self.program.log.read_text(), f"the driver says {what!r}", LONG_SECONDS)


def handed(job: str, size: int = 2, **facts: object) -> Handed:
    usual = {
        "name": RunName(f"{job}.{next(batches)}", 1),
        "stream": job,
        "consumer": "c",
        "ranges": ((1, size),),
        "count": size,
        "bytes": size,
        "attempt": 1,
        "redelivered": False,
        "deadline_seconds": LONG_SECONDS,
    }
    return Handed(**(usual | facts))  # type: ignore[arg-type]


def rows(texts: tuple[str, ...]) -> pa.Table:
    facts = [
        {
            "subject": text,
            "data": text.encode(),
            "headers": [("Region", ["eu", "é"])] if sequence % 2 else None,
            "stream": "S",
            "seq": sequence,
            "timestamp": NOW,
            "delivered": 1,
        }
        for sequence, text in enumerate(texts, start=1)
    ]
    return pa.Table.from_pylist(facts, COLUMNS)
