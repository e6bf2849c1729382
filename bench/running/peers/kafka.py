"""The peer: Kafka, read by Structured Streaming, the job in foreachBatch.

The clock of `run` runs from the start of the first batch to the end of the last, with the logs that Spark writes for
each: the start of a query is not in it.
"""

import json
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import functions as f

from bench.running.job import append_totals
from bench.running.peers.session import session

PROGRESS_KEPT = "100000"
MILLISECONDS = 1000


class Peer:
    def __init__(self, folder: str, servers: str, jars: list[str]) -> None:
        self._folder, self._servers = Path(folder), servers
        more = {"spark.jars": ",".join(jars), "spark.sql.streaming.numRecentProgressUpdates": PROGRESS_KEPT}
        self._spark = session(self._folder, more)

    def load(self, topic: str, file: str, messages: int) -> None:
        """Put the first messages of a file into a topic, on its partitions in turn."""
        lines = self._spark.read.parquet(file).limit(messages)
        rows = lines.select("value", f.pmod(f.hash("value"), f.lit(2)).alias("partition"))
        rows.write.format("kafka").option("kafka.bootstrap.servers", self._servers).option("topic", topic).save()

    def run(self, topic: str, batch: int, into: str) -> dict[str, float]:
        reading = self._reading(topic).option("maxOffsetsPerTrigger", batch)
        query = self._writing(reading, lambda frame, _: _job(frame, into)).trigger(availableNow=True).start()
        query.awaitTermination()
        return {"seconds": lasted([json.loads(each.json) for each in query.recentProgress])}

    def _writing(self, reading: Any, process: Callable[[Any, int], None]) -> Any:  # noqa: ANN401 - pyspark's
        checkpoint = tempfile.mkdtemp(dir=self._folder)
        return reading.load().writeStream.foreachBatch(process).option("checkpointLocation", checkpoint)

    def _reading(self, topic: str) -> Any:  # noqa: ANN401 - pyspark's reader
        options = {"kafka.bootstrap.servers": self._servers, "subscribe": topic, "startingOffsets": "earliest"}
        return self._spark.readStream.format("kafka").options(**options)


def _job(frame: Any, into: str) -> None:  # noqa: ANN401 - pyspark's DataFrame
    append_totals(frame, f.col("value").cast("string"), into)


def lasted(progress: list[dict[str, Any]]) -> float:
    """Return the seconds from the start of the first batch to the end of the last, as Spark tells them."""
    batches = [each for each in progress if each["numInputRows"]]
    starts = [datetime.fromisoformat(each["timestamp"]) for each in (batches[0], batches[-1])]
    last: float = batches[-1]["durationMs"]["triggerExecution"] / MILLISECONDS
    return (starts[1] - starts[0]).total_seconds() + last
