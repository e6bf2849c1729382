"""Orders are appended to a Delta table, each once, however often a batch is run."""

import os

from pyspark.sql import DataFrame

from penstock_worker.api import Batch

TABLE = os.environ.get("TABLE", "lake/orders")


def process(df: DataFrame, batch: Batch) -> None:
    orders = batch.parse(df, "id BIGINT NOT NULL, region STRING, amount DOUBLE")
    orders.write.format("delta").mode("append").options(**batch.delta()).save(TABLE)
