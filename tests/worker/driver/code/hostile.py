"""Jobs that hostile messages are sent to; the second word of the stream's name says which."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as all who write Spark call it

from penstock_worker.api import Batch

SCHEMA = "id BIGINT NOT NULL, amount DECIMAL(18,2), prices ARRAY<DECIMAL(9,2)>"


@F.udf("int")
def read(data: bytes) -> int:
    return int(data.decode())


@F.udf("int")
def read_slowly(data: bytes) -> int:
    if data == b"hang":
        time.sleep(1000)  # calm: it is cancelled at its deadline
    if data == b"die":
        os._exit(3)
    return int(data)


READERS: dict[str, Callable[[], Column]] = {
    "cast": lambda: F.col("data").cast("string").cast("int"),
    "udf": lambda: read("data"),
    "slow": lambda: read_slowly("data"),
}


def process(df: DataFrame, batch: Batch) -> None:
    kind = batch.stream.split("-")[1]
    rows = batch.parse(df, SCHEMA, into="message") if kind == "parse" else df.withColumn("read", READERS[kind]())
    rows.drop("headers").write.parquet(batch.path(str(Path(os.environ["JOBS_FOLDER"]) / batch.stream)))
