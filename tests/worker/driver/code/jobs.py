"""A user's code, for tests of the driver: the batch's stream names the job to run."""

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as all who write Spark call it

from penstock_worker.api import Batch, Reject, Retry

UNTIL_KILLED = 10_000
SETTINGS_SEEN = ("sql.session.timeZone", "sql.shuffle.partitions", "app.name")
both_slots = threading.Barrier(2)


@F.udf("string")
def shouted(text: str) -> str:
    """A function made when the module is imported: it belongs to one JVM."""
    return text.upper()


@F.udf("string")
def bad(text: str) -> str:
    raise ValueError(f"cannot read {text}")


@F.udf("string")
def repeating(data: bytes) -> str:
    raise ValueError(data.decode())


@F.udf("string")
def in_need_of_a_module(text: str) -> str:
    import no_such_module  # type: ignore[import-not-found]  # noqa: PLC0415 - Spark lacks it, not we

    return str(no_such_module.read(text))


@F.udf("string")
def dying(_text: str) -> str:
    os._exit(3)


@F.udf("string")
def hanging(text: str) -> str:
    time.sleep(UNTIL_KILLED)  # calm: user code that works until it is killed
    return text


def count(_df: DataFrame, batch: Batch) -> None:
    """Write a line per run, so that a test can count runs."""
    with (folder() / "counted").open("a") as lines:
        lines.write(f"{batch.id}\n")


def write(df: DataFrame, batch: Batch) -> None:
    df.write.parquet(f"{folder()}/{batch.id}")


def tell_plan(df: DataFrame, batch: Batch) -> None:
    """Write the number of partitions, and whether the plan has a shuffle."""
    totals = df.groupBy("subject").count()
    totals.collect()
    plan = totals._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001 - which explain() prints only
    (folder() / batch.id).write_text(f"{df.rdd.getNumPartitions()} {'Exchange' in plan}")


def use_top_level_udf(df: DataFrame, batch: Batch) -> None:
    df.select(shouted("subject").alias("subject")).write.mode("overwrite").parquet(f"{folder()}/{batch.id}")


def hang_in_spark(df: DataFrame, batch: Batch) -> None:
    say(f"{batch.id} is at work")
    df.select(hanging("subject")).collect()


def hang_in_spark_and_begin_again(df: DataFrame, batch: Batch) -> None:
    try:
        hang_in_spark(df, batch)
    except Exception:  # noqa: BLE001 - as users do
        df.select(hanging("subject")).collect()


def hang_in_python(_df: DataFrame, batch: Batch) -> None:
    say(f"{batch.id} is at work")
    threading.Event().wait()


def stop_spark(_df: DataFrame, batch: Batch) -> None:
    batch.spark.stop()
    batch.spark.range(1).count()


def wait_for_a_test(_df: DataFrame, batch: Batch) -> None:
    """Work until the test writes to a pipe."""
    os.mkfifo(folder() / "pipe")
    say(f"{batch.id} is at work")
    (folder() / "pipe").read_text()


def hold_the_interpreter(_df: DataFrame, batch: Batch) -> None:
    """Let no other thread run until the test writes to a pipe, like C code that never releases the lock."""
    pipe = folder() / "held"
    os.mkfifo(pipe)
    say(f"{batch.id} is at work")
    ctypes.PyDLL(None).open(os.fsencode(pipe), os.O_RDONLY)


def out_of_memory(_df: DataFrame, batch: Batch) -> None:
    text = F.expr("repeat('x', 1000000000)")
    batch.spark.range(0, 2, 1, 1).select(text.alias("a")).select(F.concat("a", "a", "a")).collect()


def set_and_look(_df: DataFrame, batch: Batch) -> None:
    """Set values in both slots at once, write what this one sees, and leave the slot as it was for other batches."""
    before = batch.spark.conf.get("spark.sql.shuffle.partitions")
    batch.spark.conf.set("spark.sql.shuffle.partitions", str(batch.first_seq + 10))
    batch.spark.range(batch.first_seq).createOrReplaceTempView("mine")
    both_slots.wait()
    seen = batch.spark.conf.get("spark.sql.shuffle.partitions"), batch.spark.table("mine").count()
    batch.spark.conf.set("spark.sql.shuffle.partitions", str(before))
    (folder() / batch.id).write_text(repr(seen))


def publish_files(df: DataFrame, batch: Batch) -> None:
    df.write.parquet(batch.path(f"{folder()}/published"))


def stage_and_fail(df: DataFrame, batch: Batch) -> None:
    publish_files(df, batch)
    raise Retry


def udf_raises_and_is_wrapped(df: DataFrame, _batch: Batch) -> None:
    try:
        df.select(bad("subject")).collect()
    except Exception as problem:
        raise RuntimeError("could not process") from problem


def raise_(error: Exception) -> None:
    raise error


def wrong_column_made_by_a_helper(df: DataFrame, _batch: Batch) -> None:
    column = F.col("no_such_column")
    df.select(column).collect()


def session_closed(_df: DataFrame, batch: Batch) -> None:
    batch.spark.client.release_session()
    batch.spark.range(1).count()


def unpicklable(df: DataFrame, _batch: Batch) -> None:
    lock = threading.Lock()
    df.select(F.udf(lambda _: str(lock))("subject")).collect()


ONE_LINERS: dict[str, Callable[[DataFrame, Batch], object]] = {
    "aggregate": lambda df, _: df.groupBy("subject").count().collect(),
    "send": lambda df, batch: batch.send(df, subject="out.x", data="data"),
    "reject_some": lambda _, batch: batch.reject([batch.first_seq], "no amount"),
    "raise_reject": lambda *_: raise_(Reject("all of it is nonsense")),
    "raise_reject_with_data": lambda df, _: raise_(Reject(df.collect()[0].data.decode())),
    "raise_retry": lambda *_: raise_(Retry("the table is locked", after_seconds=7)),
    "wrong_column": lambda df, _: df.select("no_such_column").collect(),
    "write_cast_data": lambda df, batch: write(df.select(F.col("data").cast("string").cast("int")), batch),
    "type_error": lambda *_: len(7),  # type: ignore[arg-type]
    "leave": lambda *_: sys.exit(5),
    "bad_cast": lambda df, _: df.select(F.col("subject").cast("int")).collect(),
    "bad_cast_on_write": lambda df, batch: write(df.select(F.col("subject").cast("int").alias("number")), batch),
    "raise_in_sql": lambda df, _: df.select(F.raise_error(F.lit("bad row"))).collect(),
    "cast_data": lambda df, _: df.select(F.col("data").cast("string").cast("int")).collect(),
    "raise_data": lambda df, _: df.select(F.raise_error(F.col("data").cast("string"))).collect(),
    "udf_repeats_data": lambda df, _: df.select(repeating("data")).collect(),
    "fail_fast": lambda df, _: df.select(F.from_json("subject", "a int", {"mode": "FAILFAST"})).collect(),
    "udf_raises": lambda df, _: df.select(bad("subject")).collect(),
    "udf_raises_on_write": lambda df, batch: write(df.select(bad("subject").alias("text")), batch),
    "missing_module": lambda df, _: df.select(in_need_of_a_module("subject")).collect(),
    "python_worker_dies": lambda df, _: df.select(dying("subject")).collect(),
    "missing_path": lambda _, batch: batch.spark.read.parquet("/no/such/folder").collect(),
    "unwritable_path": lambda df, _: df.write.mode("overwrite").parquet("/proc/nothing/here"),
    "signal_this_thread": lambda *_: signal.pthread_kill(threading.get_ident(), signal.SIGTERM),
    "settings_seen": lambda _, batch: (folder() / batch.id).write_text(
        repr([batch.spark.conf.get(f"spark.{name}") for name in SETTINGS_SEEN])
    ),
}


def process(df: DataFrame, batch: Batch) -> None:
    (ONE_LINERS.get(batch.stream) or globals()[batch.stream])(df, batch)


def folder() -> Path:
    return Path(os.environ["JOBS_FOLDER"])


def say(what: str) -> None:
    sys.stderr.write(f"{what}\n")
    sys.stderr.flush()
