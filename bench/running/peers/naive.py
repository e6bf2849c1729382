"""The peer: nats-py's fetch, a DataFrame of tuples, the job, an ack for each message; one after the other.

So its users write it today. The clock runs from before the first fetch until the server has no ack pending.
"""

import asyncio
import time
from pathlib import Path

import nats
from nats.aio.msg import Msg
from pyspark.sql import functions as f

from bench.running.job import append_totals
from bench.running.peers.session import session

FETCHED = 1000
TIMEOUT_SECONDS = 10


class Peer:
    def __init__(self, folder: str, url: str) -> None:
        self._spark = session(Path(folder))
        self._url = url

    def run(self, stream: str, consumer: str, messages: int, batch: int, into: str) -> dict[str, float]:
        return {"seconds": asyncio.run(self._run(stream, consumer, messages, batch, into))}

    async def _run(self, stream: str, consumer: str, messages: int, batch: int, into: str) -> float:
        connection = await nats.connect(self._url)
        subscription = await connection.jetstream().pull_subscribe_bind(consumer, stream)
        started, done = time.perf_counter(), 0
        while done < messages:
            held: list[Msg] = []
            while len(held) < min(batch, messages - done):
                held += await subscription.fetch(FETCHED, timeout=TIMEOUT_SECONDS)
            self._process(held, into)
            for message in held:
                await message.ack()
            await connection.flush()
            done += len(held)
        while (await subscription.consumer_info()).num_ack_pending:
            pass
        seconds = time.perf_counter() - started
        await connection.close()
        return seconds

    def _process(self, held: list[Msg], into: str) -> None:
        frame = self._spark.createDataFrame([(message.data.decode(),) for message in held], "value string")
        append_totals(frame, f.col("value"), into)
