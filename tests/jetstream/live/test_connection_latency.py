"""How soon small pieces leave: a median, so that a machine that stops for a moment does not count."""

import asyncio
from statistics import median

from penstock_jetstream.transport.connection import Connection

ROUNDS = 20
DELAYED_ACK_SECONDS = 0.04


async def test_a_small_piece_does_not_wait_for_the_one_before_to_be_confirmed(connection: Connection) -> None:
    """Naive: without TCP_NODELAY the second of two small writes waits for the peer's delayed ACK, 40 ms on Linux."""
    await connection.flush()
    loop = asyncio.get_running_loop()
    rounds = []
    for _ in range(ROUNDS):
        began = loop.time()
        connection.publish("nobody.listens", b"1")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await connection.flush()
        rounds.append(loop.time() - began)
    assert median(rounds) < DELAYED_ACK_SECONDS / 2
