"""A user's code, for chaos: every batch goes to two sinks, and says how far it got, so that it can be struck there.

`staged` is a sink that takes a batch's id once; `appended` takes whatever it is given, as most sinks do.
"""

import os
import threading
import time
import uuid
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as all who write Spark call it

from penstock_worker.api import Batch

FOLDER = Path(os.environ.get("SINKS", "."))
WORKER = os.environ.get("WORKER", "")
SLOW_SECONDS = 4.0


@F.udf("long")
def in_need_of_a_module(text: str) -> int:
    import no_such_module  # type: ignore[import-not-found]  # noqa: PLC0415 - Spark lacks it, not we

    return int(no_such_module.read(text))


def process(df: DataFrame, batch: Batch) -> None:
    """Write the numbers that are the payloads; what is no number fails the batch, as ANSI SQL has it."""
    step("began")
    _write(df.select("seq", text(df).cast("long").alias("number")), batch)


def slow(df: DataFrame, batch: Batch) -> None:
    """Take longer than an ack wait."""
    time.sleep(SLOW_SECONDS)  # calm: the user's code works longer than an ack wait
    process(df, batch)


def killed_by_a_message(df: DataFrame, batch: Batch) -> None:
    """Lose the JVM over each batch that has a certain message."""
    if df.filter(text(df) == "killer").count():
        batch.spark.sparkContext._jvm.java.lang.Runtime.getRuntime().halt(9)  # type: ignore[union-attr]  # noqa: SLF001
    process(df, batch)


def hangs_once(df: DataFrame, batch: Batch) -> None:
    """Never return, the first time; cancelling Spark's jobs does not help."""
    if first_time("hung"):
        threading.Event().wait()
    process(df, batch)


def wrong_column(df: DataFrame, batch: Batch) -> None:
    _write(df.select("no_such_column"), batch)


def missing_module(df: DataFrame, batch: Batch) -> None:
    _write(df.select("seq", in_need_of_a_module(text(df)).alias("number")), batch)


def faithful(df: DataFrame, batch: Batch) -> None:
    """Write messages as they are."""
    _write(df.select("seq", F.col("seq").alias("number"), "data", "headers"), batch)


def text(df: DataFrame) -> Column:
    return df["data"].cast("string")


def first_time(name: str) -> bool:
    try:
        (FOLDER / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _write(rows: DataFrame, batch: Batch) -> None:
    rows.coalesce(1).write.parquet(f"{FOLDER}/appended/{uuid.uuid4().hex}")
    rows.coalesce(1).write.parquet(batch.path(f"{FOLDER}/staged"))
    step("wrote")


def step(name: str) -> None:
    """Note a step in a file; a line so short is written whole or not at all."""
    with (FOLDER / "steps").open("a") as steps:
        steps.write(f"{name} {WORKER}\n")
