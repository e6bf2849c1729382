"""The messages: orders as JSON of about 185 bytes, the same whenever they are made.

Knows their fields, and how to put them into a stream. Does not know what is done with them.
"""

import random

from bench.harness.report import progress
from penstock_jetstream import Connection, JetStream
from penstock_jetstream.core import wire

SCHEMA = "id BIGINT, user STRING, region STRING, amount DOUBLE, note STRING"
SEED = 7
REGIONS = ("eu", "us", "ap", "sa", "af")
USERS = 1000
NOTE = (
    "Leave it with the neighbour if nobody opens, and ring twice; "
    "the small parcel goes to the back door, please, and no cards .."
)
CONFIRMED_EACH = 1000
"""A flood that nobody confirms overruns the server's queue."""


def payloads(count: int) -> list[bytes]:
    """Return the first so many messages."""
    chance = random.Random(SEED)  # noqa: S311 - made-up data
    return [
        b'{"id":%d,"user":"u%d","region":"%s","amount":%.2f,"note":"%s"}'
        % (
            number,
            chance.randrange(USERS),
            REGIONS[chance.randrange(len(REGIONS))].encode(),
            chance.random() * 100,
            NOTE[: len(NOTE) - number % 3].encode(),
        )
        for number in range(count)
    ]


async def publish(url: str, stream: str, messages: list[bytes]) -> None:
    """Make a stream of these messages."""
    progress(f"publishing {len(messages):,} messages to stream {stream} …")
    subject = f"{stream.lower()}.m"
    async with Connection(url) as connection:
        js = JetStream(connection)
        await js.streams.create({"name": stream, "subjects": [subject], "storage": "file"})
        for start in range(0, len(messages), CONFIRMED_EACH):
            *most, last = messages[start : start + CONFIRMED_EACH]
            connection.send(b"".join(wire.publish(subject.encode(), message) for message in most))
            await js.publish(subject, last)
        info = await js.streams.info(stream)
        if info.state.messages != len(messages):
            raise RuntimeError(f"Stream {stream} has {info.state.messages} messages, not {len(messages)}.")
