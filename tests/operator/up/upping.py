"""`penstock up` as a process of its own, with manifests and code that a test may edit, and the server that it runs."""

import asyncio
import json
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

import psutil
import pyarrow.parquet as pq
import yaml

from penstock_jetstream import ConsumerInfo, JetStream
from penstock_operator.local.state import StateFolder
from tests.operator.cli.commands import ask
from tests.operator.running import PENSTOCK
from tests.operator.scene import manifest
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


class Up:
    """The files of one `penstock up`, and its process while it runs."""

    def __init__(self) -> None:
        self.folder = run.current().new_folder("up")
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
        return [str(PENSTOCK), *words, "--state", str(self.state.path)]

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
        stream = {"connectionRef": {"name": "nats"}, "name": "ORDERS", "subjects": ["orders.>"]}
        handler = {"entrypoint": "etl:process", "configMapRef": {"name": "code"}}
        spec = {
            "consumerRef": {"name": "etl"},
            "handler": handler,
            "spark": {"master": "local[1]", "conf": QUICK},
            "scaling": {"minReplicas": 1, "maxReplicas": 1},
            **group,
        }
        documents = [
            manifest("Connection", "nats", {"servers": servers or ["nats://nats.nats"], "local": local}),
            manifest("Stream", "orders", stream),
            manifest("Consumer", "etl", {"streamRef": {"name": "orders"}, "ackWait": "5s", **(consumer or {})}),
            manifest("QueueGroup", "etl", spec),
        ]
        self.write("\n---\n".join(yaml.safe_dump(each) for each in documents))

    def write(self, text: str) -> None:
        (self.manifests / "all.yaml").write_text(text)

    # Its life

    def start(self) -> None:
        """Start it, and wait until it serves."""
        self.program.start()
        self.wait_serving()

    def wait_serving(self) -> None:
        self.program.wait_ready(self._serves, PATIENCE_SECONDS)

    def drain(self, *words: str, exit_code: int) -> str:
        """Run it with --drain, and return what it said when it ended with this code."""
        ended = self.ran(self.command("up", "-f", str(self.manifests), "--drain", *words))
        said = ended.stderr + ended.stdout
        assert ended.returncode == exit_code, said
        return said

    def interrupt(self) -> int:
        """Press Ctrl-C, and return the exit code."""
        self.program.send(signal.SIGINT)
        eventually(lambda: not self.program.is_running, "it ends", PATIENCE_SECONDS)
        return int(self.program.how_it_ended().removeprefix("ended with code "))

    def stop(self) -> None:
        if self.program.is_running:
            self.interrupt()

    def wait_all_ended(self) -> None:
        """Wait until it has ended, and every process that it started."""
        eventually(
            lambda: not (self.program.is_running or self.processes("")), "all processes have ended", PATIENCE_SECONDS
        )

    def succeed(self, *words: str) -> str:
        """Run another command of Penstock's, and return what it prints."""
        ended = self.ran(self.command(*words))
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

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
        """Return the processes with its state folder and that word in their commands."""
        commands = ((process, " ".join(words(process))) for process in psutil.process_iter())
        return [process for process, command in commands if str(self.state.path) in command and word in command]

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

    def delete_stream(self, name: str) -> None:
        self._ask(lambda js: js.streams.delete(name))

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

    def _serves(self) -> bool:
        try:
            return bool(self.consumer().name)
        except Exception:  # noqa: BLE001 - whatever it is, it is not there yet
            return False

    def _ask(self, question: Callable[[JetStream], Awaitable[T]]) -> T:
        home = self.state.read()
        assert home is not None
        [url] = home.connections[0].servers
        return ask(url, question)
