"""`penstock up` as a process of its own, with manifests and code that a test may edit, and the server that it runs."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

import psutil
import pyarrow.parquet as pq
import yaml

from penstock_jetstream import Connection, ConsumerInfo, JetStream
from penstock_operator.local.state import HomeRecord, StateFolder
from tests.testbed import run
from tests.testbed.processes import words
from tests.testbed.programs import Program
from tests.testbed.waiting import eventually

T = TypeVar("T")
PATIENCE_SECONDS = 200
"""On a machine that does much else, a JVM takes a minute, and so does its first batch."""
CODE = '''"""Rows of each batch become a Parquet folder of its own; what is no order is a dead letter."""

import os


def process(df, batch):
    orders = batch.parse(df, "id BIGINT NOT NULL")
    orders.selectExpr("id", "'{mark}' AS mark").coalesce(1).write.parquet(batch.path(os.environ["LAKE"]))
'''
QUICK = {
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
}
PENSTOCK = str(Path(sys.executable).with_name("penstock"))


class Up:
    """One home: its files, and the process while it runs."""

    def __init__(self, name: str = "up") -> None:
        self.folder = run.current().new_folder(name)
        # Paths of sockets are short, and those of a run's folders may not be.
        self.state = StateFolder(Path(mkdtemp(prefix="penstock-", dir=self.folder)))
        self.lake = self.folder / "lake"
        self.manifests = self.folder / "manifests"
        self.manifests.mkdir()
        self.program = Program(
            "up", self.command("up", "-f", str(self.manifests)), self.folder, {"LAKE": str(self.lake)}
        )
        self.mark("first")
        self.declare()

    def command(self, *words: str) -> list[str]:
        return [PENSTOCK, *words, "--state", str(self.state.path)]

    # What people write

    def mark(self, mark: str) -> None:
        """Write the code; each row that it makes has the mark."""
        self.code(CODE.format(mark=mark))

    def code(self, text: str) -> None:
        (self.manifests / "etl.py").write_text(text)

    def declare(
        self,
        *,
        port: int = 0,
        servers: list[str] | None = None,
        consumer: Mapping[str, Any] | None = None,
        **group: Any,  # noqa: ANN401 - JSON
    ) -> None:
        """Write the manifests, with some fields of two of them. Without servers there is an embedded one."""
        local = {"server": "Named" if servers else "Embedded", "port": port}
        handler = {"entrypoint": "etl:process", "configMapRef": {"name": "code"}}
        spec = {
            "consumerRef": {"name": "etl"},
            "handler": handler,
            "spark": {"master": "local[1]", "conf": QUICK},
            "scaling": {"minReplicas": 1, "maxReplicas": 1},
            **group,
        }
        documents = [
            manifest("Connection", "nats", servers=servers or ["nats://nats.nats"], local=local),
            manifest("Stream", "orders", connectionRef={"name": "nats"}, name="ORDERS", subjects=["orders.>"]),
            manifest("Consumer", "etl", streamRef={"name": "orders"}, **{"ackWait": "5s", **(consumer or {})}),
            manifest("QueueGroup", "etl", **spec),
        ]
        self.write("\n---\n".join(yaml.safe_dump(each) for each in documents))

    def write(self, text: str) -> None:
        (self.manifests / "all.yaml").write_text(text)

    # Its life

    def start(self) -> None:
        self.program.start()

    def until_serving(self) -> HomeRecord:
        """Wait until it serves, and return what it tells of itself."""
        self.program.wait_ready(lambda: self._record() is not None and bool(self._streams()), PATIENCE_SECONDS)
        home = self._record()
        assert home is not None
        return home

    def drained(self, *words: str) -> tuple[int, str]:
        """Run it with --drain; return its exit code and what it said."""
        command = self.command("up", "-f", str(self.manifests), "--drain", *words)
        ended = self.ran(command)
        return ended.returncode, ended.stderr + ended.stdout

    def interrupt(self) -> int:
        """Press Ctrl-C, and return the exit code."""
        self.program.send(signal.SIGINT)
        eventually(lambda: not self.program.is_running, "it ends", PATIENCE_SECONDS)
        return int(self.program.how_it_ended().removeprefix("ended with code "))

    def stop(self) -> None:
        if self.program.is_running:
            self.interrupt()

    def succeed(self, *words: str) -> str:
        """Run another command of Penstock's, and return what it prints."""
        ended = self.ran(self.command(*words))
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def down(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.ran(self.command("down", *words))

    def ran(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            check=False,
            cwd=self.folder,
            env=self.program.env,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def said(self) -> str:
        return self.program.log.read_text()

    def wait_said(self, what: str, times: int = 1) -> None:
        self.wait(lambda: self.said().count(what) >= times, f"it says {what!r}")

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        eventually(lambda: not self.program.is_running or condition(), what, PATIENCE_SECONDS)
        assert self.program.is_running, self.said()

    # Its processes

    def processes(self, word: str) -> list[psutil.Process]:
        """Return what runs of this home whose command has that word."""
        found = []
        for process in psutil.process_iter():
            command = " ".join(words(process))
            if str(self.state.path) in command and word in command:
                found.append(process)
        return found

    # What goes in and comes out

    def publish(self, *ids: int, bad: int = 0) -> None:
        """Publish orders, and some that are none."""
        texts = [json.dumps({"id": each}).encode() for each in ids] + [b"pardon"] * bad

        async def publish(js: JetStream) -> None:
            async with js.publisher(max_in_flight=500) as publisher:
                confirmations = [await publisher.submit("orders.north", text) for text in texts]
                await asyncio.gather(*confirmations)

        self._ask(publish)

    def consumer(self) -> ConsumerInfo:
        return self._ask(lambda js: js.consumers.info("ORDERS", "etl"))

    def rows(self) -> list[tuple[int, str]]:
        """Return all rows of all batches, as number and mark."""
        files = self.lake.glob("batch=*/*.parquet")  # what is yet to be moved there is in a folder of its own
        rows = [row for file in files for row in pq.ParquetFile(file).read(columns=["id", "mark"]).to_pylist()]
        return [(row["id"], row["mark"]) for row in rows]

    def wait_rows(self, ids: Iterable[int]) -> None:
        """Wait until exactly these orders are there, each once."""
        wanted = sorted(ids)
        self.wait(lambda: len(self.rows()) >= len(wanted), f"{len(wanted)} rows are there")
        assert sorted(number for number, _ in self.rows()) == wanted

    def wait_settled(self) -> None:
        """Wait until the server has an answer for every message."""

        def is_settled() -> bool:
            info = self.consumer()
            return info.num_pending == 0 and info.num_ack_pending == 0

        self.wait(is_settled, "everything is settled")

    def _record(self) -> HomeRecord | None:
        return self.state.read()

    def _streams(self) -> bool:
        try:
            return bool(self.consumer().name)
        except Exception:  # noqa: BLE001 - whatever it is, it is not there yet
            return False

    def _ask(self, question: Callable[[JetStream], Coroutine[Any, Any, T]]) -> T:
        home = self._record()
        assert home is not None

        async def ask() -> T:
            async with Connection(home.connections[0].servers) as connection:
                return await question(JetStream(connection))

        return asyncio.run(ask())


def manifest(kind: str, name: str, /, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"apiVersion": "penstock.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
