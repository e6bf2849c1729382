"""A real driver as a process of its own, with the engine's client at the other end of its socket."""

import dataclasses
import json
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Self

import psutil
import pyarrow as pa
import pytest

from penstock_worker.exchange.client import DriverClient, DriverLostError
from penstock_worker.exchange.columns import COLUMNS
from penstock_worker.exchange.records import Description, Handed, RunName
from penstock_worker.policy.outcome import Outcome, Verdict
from penstock_worker.policy.settings import ConnectionSettings, DriverSettings, WorkerSettings
from tests.testbed import run
from tests.testbed.processes import program
from tests.testbed.programs import Program
from tests.testbed.waiting import eventually
from tests.worker.machine.playing import SETTINGS

LONG_SECONDS = 300
"""On a busy machine a JVM takes a minute to start, and its first batch another."""
CODE = Path(__file__).with_name("code")
JOBS = "jobs:process"
QUICK: Mapping[str, str] = {
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.app.name": "ours",
}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
batches = count(1)

QUOTING = ("cast_data", "raise_data", "udf_repeats_data")
"""Jobs whose errors quote the payload."""
WORDS = (
    "OPERATION_CANCELED",
    "SPARK_JOB_CANCELLED",
    "[INVALID_HANDLE.SESSION_CLOSED] x SQLSTATE: HY000",
    "java.lang.OutOfMemoryError: Java heap space",
    "StatusCode.UNAVAILABLE",
    "Cannot call methods on a stopped SparkContext",
    "cannot pickle",
    "x\nModuleNotFoundError: No module named 'x'",
    'x\nTraceback (most recent call last):\n  File "x.py", line 1, in x\nImportError: x',
    "[PYTHON_VERSION_MISMATCH] AnalysisException SQLSTATE: 42703",
)
"""Payloads with words of errors that blame no message."""


class RunningDriver:
    """A driver for tests, started and ended by its `with`."""

    def __init__(self, name: str = "driver", **settings: object) -> None:
        self.folder = run.current().new_folder(name)
        self.jobs_folder = self.folder / "jobs"
        self.jobs_folder.mkdir()
        chosen = {"entrypoint": JOBS, "python_path": (str(CODE),), "master": "local[2]", "conf": dict(QUICK)} | settings
        self.settings = WorkerSettings(
            socket=str(self.folder / "s"),
            connection=ConnectionSettings(servers=("nats://127.0.0.1:4222",)),
            engine=SETTINGS,
            driver=DriverSettings(work_folder=str(self.folder / "work"), **chosen),  # type: ignore[arg-type]
        )
        file = self.folder / "settings.json"
        file.write_text(json.dumps(dataclasses.asdict(self.settings)))
        command = [sys.executable, "-m", "penstock_worker.driver.main", "--settings", str(file)]
        self.program = Program(name, command, self.folder, {"JOBS_FOLDER": str(self.jobs_folder)})
        self.program.env.pop("SPARK_CONF_DIR", None)  # of the Spark that this test process has started
        self.client = DriverClient(self.settings.socket)
        self.calls = ThreadPoolExecutor()

    def __enter__(self) -> Self:
        self.program.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.program.is_running:
            self.program.kill()
        self.calls.shutdown()

    def describe(self) -> Description | None:
        """Return the driver's description of itself; None if there is no driver."""
        try:
            return self.client.describe()
        except DriverLostError:
            return None

    def wait_ready(self) -> None:
        self.program.wait_ready(self.is_ready, LONG_SECONDS)

    def is_ready(self) -> bool:
        described = self.describe()
        assert described is None or not described.permanent, described
        return described is not None and described.ready

    def wait_unusable(self) -> str:
        """Return why the driver will never be ready, once it says so."""

        def unusable() -> Description | None:
            described = self.describe()
            return described if described is not None and described.permanent else None

        return eventually(unusable, "the driver is unusable", LONG_SECONDS).why_not

    def run(self, job: str, **facts: object) -> Outcome:
        """Run a job on a batch, and forget it."""
        batch = handed(job, **facts)  # type: ignore[arg-type]
        outcome = self.run_batch(batch)
        self.client.forget(batch.name)
        return outcome

    def run_batch(self, batch: Handed, texts: tuple[str, ...] = ("a", "b")) -> Outcome:
        return self.client.run(batch, rows(texts), timeout_seconds=LONG_SECONDS)

    def begin(self, batch: Handed) -> "Future[Outcome]":
        """Run a batch in a thread."""
        return self.calls.submit(self.run_batch, batch)

    def begin_and_wait(self, batch: Handed) -> "Future[Outcome]":
        """Begin a run, and return once its job has said that it is there."""
        outcome = self.begin(batch)
        self.wait_logged(f"{batch.name.batch_id} is at work")
        return outcome

    def written(self, batch: Handed) -> Path:
        """Return where jobs write what they make of a batch."""
        return self.jobs_folder / batch.name.batch_id

    def jvm(self) -> psutil.Process:
        """Return its JVM, once there is exactly one: one that was killed may still be ending."""
        found: list[psutil.Process] = []

        def is_one() -> bool:
            found[:] = [child for child in self.children() if program(child) == "java"]
            return len(found) == 1

        eventually(is_one, "there is one JVM", LONG_SECONDS)
        return found[0]

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.program.pid).children(recursive=True)

    def wait_logged(self, text: str) -> None:
        eventually(lambda: text in self.program.log.read_text(), f"the driver logs {text!r}", LONG_SECONDS)


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
            "subject": text[:9],
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


def assert_words_decide_nothing(driver: RunningDriver, subtests: pytest.Subtests) -> None:
    """Assert that a payload is blamed for an error that quotes it, whatever words it has."""
    for job in QUOTING:
        for words in WORDS:
            with subtests.test(f"{job} {words}"):
                outcome = driver.run_batch(handed(job, 1), (words,))
                assert outcome.verdict is Verdict.DATA, outcome
