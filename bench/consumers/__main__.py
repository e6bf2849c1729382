"""Run one consumer: `python -m bench.consumers NAME URL STREAM CONSUMER COUNT`; prints one line of JSON.

The clock runs from before it connects until the server has no ack pending; its CPU until its own last ack left.
"""

import asyncio
import importlib
import json
import sys
import time

from penstock_jetstream import Connection, JetStream


async def main(name: str, url: str, stream: str, consumer: str, count: int) -> None:
    module = importlib.import_module(f"bench.consumers.{name}")
    started, cpu_before = time.perf_counter(), time.process_time()
    seen = await module.consume(url, stream, consumer, count)
    cpu_seconds = time.process_time() - cpu_before
    await until_settled(url, stream, consumer)
    seconds = time.perf_counter() - started
    print(json.dumps({"messages": seen, "seconds": seconds, "cpu_seconds": cpu_seconds}))


async def until_settled(url: str, stream: str, consumer: str) -> None:
    async with Connection(url) as connection:
        consumers = JetStream(connection).consumers
        while (info := await consumers.info(stream, consumer)).num_ack_pending or info.num_pending:
            pass


if __name__ == "__main__":
    _, chosen, address, stream_name, consumer_name, how_many = sys.argv
    asyncio.run(main(chosen, address, stream_name, consumer_name, int(how_many)))
