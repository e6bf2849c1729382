"""Publish at a steady rate: `python -m bench.running.publisher URL SUBJECT COUNT RATE FILE`.

The file gets when each message was sent, as a list of JSON: the first is the stream's first, as nobody else publishes.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from bench.running.messages import payloads
from penstock_jetstream import Connection

TICK_SECONDS = 0.001


async def publish(url: str, subject: str, count: int, rate: int) -> list[float]:
    """Return when each was sent."""
    messages, sent_at = payloads(count), list[float]()
    async with Connection(url) as connection:
        started = time.perf_counter()
        while len(sent_at) < count:
            due = min(count, int((time.perf_counter() - started) * rate) + 1)
            for message in messages[len(sent_at) : due]:
                sent_at.append(time.time())
                connection.publish(subject, message)
            await asyncio.sleep(TICK_SECONDS)
        await connection.flush()
    return sent_at


if __name__ == "__main__":
    _, where, which, how_many, how_fast, into = sys.argv
    times = asyncio.run(publish(where, which, int(how_many), int(how_fast)))
    Path(into).write_text(json.dumps(times))
