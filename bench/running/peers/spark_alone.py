"""The peer: Spark alone, with the same bytes in memory, a table of Arrow for each batch, one batch after the other."""

import time
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import functions as f

from bench.running.job import append_totals
from bench.running.peers.session import session


class Peer:
    def __init__(self, folder: str, file: str) -> None:
        self._spark = session(Path(folder))
        self._messages = pq.read_table(file)

    def run(self, messages: int, batch: int, into: str) -> dict[str, float]:
        tables = [
            self._messages.slice(start, min(batch, messages - start)).combine_chunks()
            for start in range(0, messages, batch)
        ]
        started = time.perf_counter()
        for table in tables:
            append_totals(self._spark.createDataFrame(table), f.col("value"), into)
        return {"seconds": time.perf_counter() - started}
