"""A user's code, for tests of the driver: the batch's stream names the job to run."""

import ctypes
import os
import signal
import sys
import threading
import time
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as all who write Spark call it

from penstock_worker.api import Batch, Reject, Retry

UNTIL_KILLED = 10_000
both_slots = threading.Barrier(2)


@F.udf("string")
def shouted(text: str) -> str:
    """A function made when the module is imported: it belongs to one JVM."""
    return text.upper()


@F.udf("string")
def bad(text: str) -> str:
    raise ValueError(f"cannot read {text}")


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


def write(df: DataFrame, batch: Batch) -> None:
    df.write.parquet(f"{folder()}/{batch.id}")


def count(_df: DataFrame, batch: Batch) -> None:
    """Write a line per run, so that a test can count runs."""
    with (folder() / "counted").open("a") as lines:
        lines.write(f"{batch.id}\n")


def tell_plan(df: DataFrame, batch: Batch) -> None:
    """Write the number of partitions, and whether the plan has a shuffle."""
    totals = df.groupBy("subject").count()
    totals.collect()
    plan = totals._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001 - which explain() prints only
    (folder() / batch.id).write_text(f"{df.rdd.getNumPartitions()} {'Exchange' in plan}")


def use_top_level_udf(df: DataFrame, batch: Batch) -> None:
    df.select(shouted("subject").alias("subject")).write.mode("overwrite").parquet(f"{folder()}/{batch.id}")


def reject_some(_df: DataFrame, batch: Batch) -> None:
    batch.reject([batch.first_seq], "no amount")


def raise_reject(_df: DataFrame, _batch: Batch) -> None:
    raise Reject("all of it is nonsense")


def raise_retry(_df: DataFrame, _batch: Batch) -> None:
    raise Retry("the table is locked", after_seconds=7)


def wrong_column(df: DataFrame, _batch: Batch) -> None:
    df.select("no_such_column").collect()


def type_error(_df: DataFrame, _batch: Batch) -> None:
    len(7)  # type: ignore[arg-type]


def leave(_df: DataFrame, _batch: Batch) -> None:
    sys.exit(5)


def bad_cast(df: DataFrame, _batch: Batch) -> None:
    df.select(F.col("subject").cast("int")).collect()


def bad_cast_on_write(df: DataFrame, batch: Batch) -> None:
    df.select(F.col("subject").cast("int").alias("number")).write.parquet(f"{folder()}/{batch.id}")


def raise_in_sql(df: DataFrame, _batch: Batch) -> None:
    df.select(F.raise_error(F.lit("bad row"))).collect()


def fail_fast(df: DataFrame, _batch: Batch) -> None:
    df.select(F.from_json("subject", "a int", {"mode": "FAILFAST"})).collect()


def udf_raises(df: DataFrame, _batch: Batch) -> None:
    df.select(bad("subject")).collect()


def udf_raises_on_write(df: DataFrame, batch: Batch) -> None:
    df.select(bad("subject").alias("text")).write.parquet(f"{folder()}/{batch.id}")


def udf_raises_and_is_wrapped(df: DataFrame, batch: Batch) -> None:
    try:
        udf_raises(df, batch)
    except Exception as problem:
        raise RuntimeError("could not process") from problem


def missing_module(df: DataFrame, _batch: Batch) -> None:
    df.select(in_need_of_a_module("subject")).collect()


def python_worker_dies(df: DataFrame, _batch: Batch) -> None:
    df.select(dying("subject")).collect()


def missing_path(_df: DataFrame, batch: Batch) -> None:
    batch.spark.read.parquet("/no/such/folder").collect()


def unwritable_path(df: DataFrame, _batch: Batch) -> None:
    df.write.mode("overwrite").parquet("/proc/nothing/here")


def hang_in_spark(df: DataFrame, batch: Batch) -> None:
    say(f"{batch.id} is at work")
    df.select(hanging("subject")).collect()


def hang_in_python(_df: DataFrame, batch: Batch) -> None:
    say(f"{batch.id} is at work")
    threading.Event().wait()


def hang_in_spark_and_begin_again(df: DataFrame, batch: Batch) -> None:
    try:
        hang_in_spark(df, batch)
    except Exception:  # noqa: BLE001 - as users do
        df.select(hanging("subject")).collect()


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


def have_this_thread_hear_the_signal(_df: DataFrame, _batch: Batch) -> None:
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)


def stop_spark(_df: DataFrame, batch: Batch) -> None:
    batch.spark.stop()
    batch.spark.range(1).count()


def out_of_memory(_df: DataFrame, batch: Batch) -> None:
    text = F.expr("repeat('x', 1000000000)")
    batch.spark.range(0, 2, 1, 1).select(text.alias("a")).select(F.concat("a", "a", "a")).collect()


def set_and_look(_df: DataFrame, batch: Batch) -> None:
    """Set values in both slots at once, then write what this one sees."""
    batch.spark.conf.set("spark.sql.shuffle.partitions", str(batch.first_seq + 10))
    batch.spark.range(batch.first_seq).createOrReplaceTempView("mine")
    both_slots.wait()
    seen = batch.spark.conf.get("spark.sql.shuffle.partitions"), batch.spark.table("mine").count()
    (folder() / batch.id).write_text(repr(seen))


def settings_seen(_df: DataFrame, batch: Batch) -> None:
    names = ("spark.sql.session.timeZone", "spark.sql.shuffle.partitions", "spark.app.name")
    (folder() / batch.id).write_text(repr([batch.spark.conf.get(name) for name in names]))


def aggregate(df: DataFrame, _batch: Batch) -> None:
    df.groupBy("subject").count().collect()


def send(df: DataFrame, batch: Batch) -> None:
    batch.send(df, subject="out.x", data="data")


def publish_files(df: DataFrame, batch: Batch) -> None:
    df.write.parquet(batch.path(f"{folder()}/published"))


def stage_and_fail(df: DataFrame, batch: Batch) -> None:
    publish_files(df, batch)
    raise Retry


def process(df: DataFrame, batch: Batch) -> None:
    globals()[batch.stream](df, batch)


def folder() -> Path:
    return Path(os.environ["JOBS_FOLDER"])


def say(what: str) -> None:
    sys.stderr.write(f"{what}\n")
    sys.stderr.flush()
