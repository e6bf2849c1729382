"""Our lane: blocks in, and the acks of a block out in one write; every message is acked."""

from penstock_jetstream import Connection, JetStream

MAX_MESSAGES = 20_000


async def consume(url: str, stream: str, consumer: str, count: int) -> int:
    seen = 0
    async with Connection(url) as connection:
        handle = JetStream(connection).consumer(stream, consumer)
        async with handle.lane(max_messages=MAX_MESSAGES) as lane:
            async for block in lane:
                lane.ack(block.replies)
                seen += len(block)
                if seen >= count:
                    break
        await connection.flush()
    return seen
