"""The peer: Kafka, read by Structured Streaming, the job in foreachBatch.

The clock of `run` runs from the start of the first batch to the end of the last, with the logs that Spark writes for
each: the start of a query is not in it.
"""

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import functions as f

from bench.running.job import append_totals
from bench.running.peers.session import session

PROGRESS_KEPT = "100000"
MILLISECONDS = 1000
LOOK_SECONDS = 0.1


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

    def follow(self, topic: str, into: str) -> None:
        """Begin to process whatever comes, each batch as soon as the one before is done."""
        self._done = done = dict[int, float]()

        def process(frame: Any, number: int) -> None:  # noqa: ANN401 - pyspark's DataFrame
            _job(frame, into)
            done[number] = time.time()

        self._query = self._writing(self._reading(topic), process).trigger(processingTime="0 seconds").start()

    def followed(self, topic: str, messages: int) -> list[tuple[float, float]]:
        """Wait until so many are processed, and return when each was published and when it was written."""
        while (len(batches := self._batches()) == 0) or sum(each["numInputRows"] for each in batches) < messages:
            if self._query.exception() is not None:
                raise RuntimeError("The query failed.") from self._query.exception()
            time.sleep(LOOK_SECONDS)
        self._query.stop()
        written = written_at(batches, self._done, topic)
        options = {"kafka.bootstrap.servers": self._servers, "subscribe": topic}
        published = self._spark.read.format("kafka").options(**options).load()
        rows = published.select("partition", "offset", f.col("timestamp").cast("double").alias("at")).collect()
        return [(row["at"], written[row["partition"], row["offset"]]) for row in rows]

    def _batches(self) -> list[dict[str, Any]]:
        told = [json.loads(each.json) for each in self._query.recentProgress]
        return [each for each in told if each["numInputRows"]]

    def _writing(self, reading: Any, process: Callable[[Any, int], None]) -> Any:  # noqa: ANN401 - pyspark's
        checkpoint = tempfile.mkdtemp(dir=self._folder)
        return reading.load().writeStream.foreachBatch(process).option("checkpointLocation", checkpoint)

    def _reading(self, topic: str) -> Any:  # noqa: ANN401 - pyspark's reader
        options = {"kafka.bootstrap.servers": self._servers, "subscribe": topic, "startingOffsets": "earliest"}
        return self._spark.readStream.format("kafka").options(**options)


def _job(frame: Any, into: str) -> None:  # noqa: ANN401 - pyspark's DataFrame
    append_totals(frame, f.col("value").cast("string"), into)


def written_at(batches: list[dict[str, Any]], done: Mapping[int, float], topic: str) -> dict[tuple[int, int], float]:
    """Return when each message, named by its partition and offset, was written."""
    written = {}
    for each in batches:
        (source,) = each["sources"]
        before = (source["startOffset"] or {}).get(topic, {})
        for partition, end in source["endOffset"][topic].items():
            for offset in range(before.get(partition, 0), end):
                written[int(partition), offset] = done[each["batchId"]]
    return written


def lasted(progress: list[dict[str, Any]]) -> float:
    """Return the seconds from the start of the first batch to the end of the last, as Spark tells them."""
    batches = [each for each in progress if each["numInputRows"]]
    starts = [datetime.fromisoformat(each["timestamp"]) for each in (batches[0], batches[-1])]
    last: float = batches[-1]["durationMs"]["triggerExecution"] / MILLISECONDS
    return (starts[1] - starts[0]).total_seconds() + last
