"""The job of `helm test`: each word comes back in capitals."""

import os

from pyspark.sql import DataFrame

from penstock_worker.api import Batch


def process(df: DataFrame, batch: Batch) -> None:
    capitals = df.selectExpr("seq", "upper(CAST(data AS STRING)) AS word")
    batch.send(capitals, os.environ["ANSWERS"], data="word")
