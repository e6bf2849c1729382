"""What our driver is given to run: the job on each batch, into a folder of the consumer's name.

Two batches run at once, and Spark's appends of files to one folder must not: one that ends removes what others have
under way, without a word. So each batch has a place of its own, as users are told to write files.
"""

import json
import os
from pathlib import Path

from pyspark.sql import DataFrame

from bench.running.job import FOLDER_VARIABLE, totals
from penstock_worker.api import Batch


def process(df: DataFrame, batch: Batch) -> None:
    totals(df, df.data.cast("string")).write.parquet(batch.path(str(_folder(batch))))


def process_and_note(df: DataFrame, batch: Batch) -> None:
    """Note beside the folder which messages are in which batch."""
    process(df, batch)
    with _folder(batch).with_suffix(".notes").open("a") as notes:
        notes.write(json.dumps([batch.id, batch.ranges]) + "\n")


def _folder(batch: Batch) -> Path:
    return Path(os.environ[FOLDER_VARIABLE], batch.consumer)
