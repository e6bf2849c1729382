"""A user's code as it usually is: parse, aggregate, write, and reject what is no order."""

import os

from pyspark.sql import DataFrame

from penstock_worker.api import Batch

SINKS = os.environ.get("SINKS", "lake")


def process(df: DataFrame, batch: Batch) -> None:
    orders = batch.parse(df, "id BIGINT NOT NULL, region STRING NOT NULL")
    orders.groupBy("region").count().write.parquet(batch.path(f"{SINKS}/orders"))
