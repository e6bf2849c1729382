"""Totals of each batch are computed on a Spark Connect server, and published."""

from pyspark.sql import DataFrame

from penstock_worker.api import Batch


def process(df: DataFrame, batch: Batch) -> None:
    sales = batch.parse(df, "id BIGINT NOT NULL, region STRING NOT NULL, amount DOUBLE")
    totals = sales.groupBy("region").sum("amount").toDF("region", "amount")
    batch.send(totals, "totals.sales")
