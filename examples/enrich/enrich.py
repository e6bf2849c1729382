"""Purchases are joined with a table of customers and published again; those of unknown customers are rejected."""

import os

from pyspark.sql import DataFrame

from penstock_worker.api import Batch

CUSTOMERS = os.environ.get("CUSTOMERS", "customers")


def process(df: DataFrame, batch: Batch) -> None:
    customers = batch.spark.read.parquet(CUSTOMERS)
    purchases = batch.parse(df, "id BIGINT NOT NULL, customer BIGINT NOT NULL, amount DOUBLE").cache()
    batch.reject(purchases.join(customers, "customer", "left_anti"), "The customer is not known.")
    batch.send(purchases.join(customers, "customer"), "enriched.purchases")
    purchases.unpersist()
