"""Our API of single messages: `async for`, and an ack for each."""

from penstock_jetstream import Connection, JetStream

MAX_MESSAGES = 10_000


async def consume(url: str, stream: str, consumer: str, count: int) -> int:
    seen = 0
    async with Connection(url) as connection:
        handle = JetStream(connection).consumer(stream, consumer)
        async with handle.consume(max_messages=MAX_MESSAGES) as messages:
            async for message in messages:
                message.ack()
                seen += 1
                if seen == count:
                    break
        await connection.flush()
    return seen
