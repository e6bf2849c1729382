"""Our lane on a consumer with ack policy `all`: one ack answers a batch."""

from penstock_jetstream import Connection, JetStream

MAX_MESSAGES = 20_000
BATCH = 10_000


async def consume(url: str, stream: str, consumer: str, count: int) -> int:
    seen, acked = 0, 0
    async with Connection(url) as connection:
        handle = JetStream(connection).consumer(stream, consumer)
        async with handle.lane(max_messages=MAX_MESSAGES) as lane:
            async for block in lane:
                seen += len(block)
                if seen - acked >= BATCH or seen >= count:
                    lane.ack(block.replies[-1:])
                    acked = seen
                if seen >= count:
                    break
        await connection.flush()
    return seen
