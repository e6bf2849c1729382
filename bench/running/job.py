"""The job that all run on each batch: parse JSON, count and sum by region, append Parquet; and what came of it.

Knows Spark's DataFrames. Does not know where the messages are from.
"""

from collections.abc import Mapping
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from bench.running.messages import SCHEMA
from penstock_worker.spark import defaults

FOLDER_VARIABLE = "BENCH_FOLDER"
"""Where the functions that our driver is given write."""


def totals(df: DataFrame, text: Column) -> DataFrame:
    orders = df.select(f.from_json(text, SCHEMA).alias("order")).select("order.*")
    return orders.groupBy("region").agg(f.count("*").alias("orders"), f.sum("amount").alias("amount"))


def append_totals(df: DataFrame, text: Column, folder: str) -> None:
    totals(df, text).write.mode("append").parquet(folder)


def counted(folder: Path) -> int:
    """Return how many messages the totals are of."""
    counts = pq.read_table(folder, columns=["orders"], partitioning=None)["orders"]
    return int(pc.sum(counts).as_py() or 0)


def settings(folder: Path) -> Mapping[str, str]:
    """Return Spark's settings: for the peers, too, those that our driver has, so that all run the same Spark."""
    return defaults.classic("local[*]", folder, {})
