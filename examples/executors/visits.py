"""Visits to each page are counted by executors, which are pods of their own, and the counts published."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from penstock_worker.api import Batch


def process(df: DataFrame, batch: Batch) -> None:
    visits = batch.parse(df, "page STRING NOT NULL, visitor STRING NOT NULL")
    visitors = f.countDistinct("visitor").alias("visitors")
    counts = visits.groupBy("page").agg(f.count("visitor").alias("visits"), visitors)
    batch.send(counts, "counts.pages")
