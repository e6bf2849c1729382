"""Run long: `python -m bench.consumers.endurance URL STREAM COUNT`; reads a stream again and again until so many.

Every ack is confirmed by the server (`settle`). Prints one line of JSON: how many, how fast, and the memory after each
reading.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from penstock_jetstream import Connection, JetStream

BATCH = 10_000
CONSUMER = "endurance"
CONFIG = {"durable_name": CONSUMER, "ack_policy": "explicit", "max_ack_pending": 5 * BATCH}


async def main(url: str, stream: str, count: int) -> None:
    memory_mib, settled = [], 0
    async with Connection(url) as connection:
        js = JetStream(connection)
        each = (await js.streams.info(stream)).state.messages
        started = time.perf_counter()
        while settled < count:
            await js.consumers.create(stream, CONFIG)
            settled += await read_all(js, stream, each)
            await js.consumers.delete(stream, CONSUMER)
            memory_mib.append(resident_mib())
        seconds = time.perf_counter() - started
    print(json.dumps({"messages": settled, "seconds": seconds, "memory_mib": memory_mib}))


async def read_all(js: JetStream, stream: str, count: int) -> int:
    """Read and settle so many messages in batches; return how many the server says are acknowledged."""
    held: list[bytes] = []
    left = count
    async with js.consumer(stream, CONSUMER).lane(max_messages=2 * BATCH) as lane:
        async for block in lane:
            held += block.replies
            left -= len(block)
            if len(held) >= BATCH or not left:
                await lane.settle(held)
                held = []
            if not left:
                break
    info = await js.consumers.info(stream, CONSUMER)
    if info.num_ack_pending or info.num_pending:
        raise RuntimeError(f"{info.num_ack_pending} acks are missing, and {info.num_pending} messages.")
    return info.ack_floor.consumer_sequence


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGESIZE") / (1 << 20), 1)


if __name__ == "__main__":
    _, address, stream_name, how_many = sys.argv
    asyncio.run(main(address, stream_name, int(how_many)))
