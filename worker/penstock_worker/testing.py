"""For users' own unit tests: run `process(df, batch)` on a few messages, with no NATS and no worker.

Knows how to make messages of plain values, and what the function left behind. The batch, its DataFrame and its helpers
are those of a worker. Does not know what a worker makes of the result: errors of the function are raised as they are.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from penstock_worker.api import Batch
from penstock_worker.exchange.columns import COLUMNS
from penstock_worker.exchange.records import Handed, RunName
from penstock_worker.policy.identity import batch_id
from penstock_worker.policy.ranges import ranges_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

Process: TypeAlias = "Callable[[DataFrame, Batch], object]"
DEADLINE_SECONDS = 600.0
CONF = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@dataclass(frozen=True, slots=True)
class Message:
    """A message of which more than its payload matters. A payload that is neither bytes nor text is written as JSON."""

    data: object
    subject: str = "test"
    headers: Mapping[str, Sequence[str]] | None = None
    seq: int | None = None
    """None: one more than the message before it has, from 1 on."""
    timestamp: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    delivered: int = 1


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that the function wants published."""

    subject: str
    data: bytes
    message_id: str
    headers: dict[str, list[str]] = field(default_factory=dict)

    def json(self) -> Any:  # noqa: ANN401 - it is what the user wrote
        return json.loads(self.data)


@dataclass(frozen=True, slots=True)
class Result:
    """What the function left behind. Files and tables are where it wrote them."""

    rejected: dict[int, str]
    """Reasons by sequence: what a worker puts into the dead letters."""
    sent: list[Sent]
    returned: object


def run(
    process: Process,
    messages: Iterable[object],
    *,
    spark: SparkSession | None = None,
    stream: str = "TEST",
    consumer: str = "test",
    attempt: int = 1,
    ancestors: Sequence[str] = (),
) -> Result:
    """Run the function once on these messages: payloads as dict, list, text or bytes, or whole `Message`s.

    With `ancestors` they are a part of the batches with these ids, which failed or were lost before.
    """
    session = spark or local_spark()
    table = as_table(messages, stream)
    sequences = sorted(table["seq"].to_pylist())
    ranges = ranges_of(sequences)
    handed = Handed(
        name=RunName(batch_id(stream, consumer, ranges, newest=0, life=""), attempt),
        stream=stream,
        consumer=consumer,
        ranges=ranges,
        ancestors=tuple(ancestors),
        count=len(table),
        bytes=sum(map(len, table["data"].to_pylist())),
        attempt=attempt,
        redelivered=any(delivered > 1 for delivered in table["delivered"].to_pylist()),
        deadline_seconds=DEADLINE_SECONDS,
    )
    batch = Batch(handed, session, datetime.now(UTC) + timedelta(seconds=DEADLINE_SECONDS))
    try:
        returned = process(session.createDataFrame(table), batch)
        finished = batch.finish()
    except BaseException:
        batch.abandon()
        raise
    sent = [
        Sent(row["subject"], row["data"], row["message_id"], dict(row["headers"] or []))
        for row in finished.outgoing.to_pylist()
    ]
    return Result({rejection.sequence: rejection.reason for rejection in finished.rejections}, sent, returned)


def as_table(messages: Iterable[object], stream: str = "TEST") -> pa.Table:
    """Return messages as the worker's table: what `process` is given, before Spark has it."""
    rows: list[dict[str, object]] = []
    sequence = 0
    for given in messages:
        message = given if isinstance(given, Message) else Message(given)
        sequence = sequence + 1 if message.seq is None else message.seq
        rows.append(
            {
                "subject": message.subject,
                "data": _payload(message.data),
                "headers": message.headers and list(message.headers.items()),
                "stream": stream,
                "seq": sequence,
                "timestamp": message.timestamp,
                "delivered": message.delivered,
            }
        )
    if not rows:
        raise ValueError("A batch has at least one message: give some.")
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def _payload(data: object) -> bytes:
    if isinstance(data, bytes):
        return data
    return (data if isinstance(data, str) else json.dumps(data)).encode()


def local_spark(conf: Mapping[str, str] | None = None) -> SparkSession:
    """Return the session of this process, which lives as long as it does; the first call's settings hold."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - without it, only those who bring a session can test

    from penstock_worker.spark import find_java  # noqa: PLC0415

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else it is whatever python3 is on the PATH
    if "JAVA_HOME" not in os.environ:  # a launcher that others could write in our place would run as us
        folder = tempfile.mkdtemp(prefix="penstock-java-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["JAVA_HOME"] = str(find_java(Path(folder)).home)
    builder = SparkSession.builder.master("local[2]").appName("penstock-testing")
    for name, value in {**CONF, **(conf or {})}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
