"""Orders become one row per region in Parquet; what is no order goes to the dead letters."""

import os

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from penstock_worker.api import Batch

LAKE = os.environ.get("LAKE", "lake")


def process(df: DataFrame, batch: Batch) -> None:
    orders = batch.parse(df, "id BIGINT NOT NULL, region STRING NOT NULL, amount DOUBLE")
    totals = orders.groupBy("region").agg(f.count("id").alias("orders"), f.sum("amount").alias("amount"))
    totals.write.parquet(batch.path(f"{LAKE}/orders"))
