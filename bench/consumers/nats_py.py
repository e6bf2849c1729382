"""The peer: nats-py's fetch with an ack for each message, as its users write it."""

import nats

FETCHED = 1000
TIMEOUT_SECONDS = 10


async def consume(url: str, stream: str, consumer: str, count: int) -> int:
    connection = await nats.connect(url)
    subscription = await connection.jetstream().pull_subscribe_bind(consumer, stream)
    seen = 0
    while seen < count:
        messages = await subscription.fetch(FETCHED, timeout=TIMEOUT_SECONDS)
        for message in messages:
            await message.ack()
        seen += len(messages)
    await connection.flush()
    await connection.close()
    return seen
