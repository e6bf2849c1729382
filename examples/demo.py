"""The first look: a NATS server, a stream of orders, a consumer that acknowledges every one, and a table of the result.

usage: python examples/demo.py [--orders 20000] [--port PORT]

Everything runs on this machine, in a temporary folder, and ends with the program.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import nats
from nats.js import JetStreamContext

from penstock_operator.local.embedded_nats import EmbeddedNatsError, embedded_nats

REGIONS = ("north", "east", "south", "west")
WINDOW = 1_000
BATCH = 1_000
Totals = dict[str, Counter[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description="Lead orders through JetStream, here and now.")
    parser.add_argument("--orders", type=int, default=20_000, help="how many orders to publish (default 20000)")
    parser.add_argument("--port", type=int, help="the NATS server's port (default: a free one)")
    arguments = parser.parse_args()
    try:
        asyncio.run(demo(arguments.orders, arguments.port))
    except EmbeddedNatsError as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


async def demo(orders: int, port: int | None) -> None:
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as folder:
        async with embedded_nats(Path(folder), port) as server:
            connection = await nats.connect(server.url)
            version = connection.connected_server_version
            print(f"NATS {version.major}.{version.minor}.{version.patch} serves at {server.url}\n")
            jetstream = connection.jetstream(publish_async_max_pending=WINDOW)
            await jetstream.add_stream(name="ORDERS", subjects=["orders.>"])
            await publish(jetstream, orders)
            totals = await consume(jetstream, orders)
            show(totals)
            await show_accounts(jetstream)
            await connection.close()
    print("\nThe server has stopped and its folder is gone.")


async def publish(jetstream: JetStreamContext, orders: int) -> None:
    """Publish without waiting for each confirmation, then check all of them."""
    dice, started = random.Random(7), time.perf_counter()
    confirmations = []
    for number in range(orders):
        region = dice.choice(REGIONS)
        order = {"id": number, "region": region, "amount": dice.randrange(1, 500)}
        confirmations.append(await jetstream.publish_async(f"orders.{region}", json.dumps(order).encode()))
    await asyncio.gather(*confirmations)
    say("published", orders, "all confirmed by the server", started)


async def consume(jetstream: JetStreamContext, orders: int) -> Totals:
    """Pull batches, count, and acknowledge each message once its batch is counted."""
    totals: Totals = {region: Counter() for region in REGIONS}
    subscription = await jetstream.pull_subscribe("orders.>", durable="demo", stream="ORDERS")
    started, seen = time.perf_counter(), 0
    while seen < orders:
        batch = await subscription.fetch(min(BATCH, orders - seen), timeout=5)
        for message in batch:
            order = json.loads(message.data)
            totals[order["region"]].update(orders=1, amount=order["amount"])
        for message in batch[:-1]:
            await message.ack()
        await batch[-1].ack_sync()  # the server has this one, and so all before it
        seen += len(batch)
    await subscription.unsubscribe()
    say("consumed", seen, f"in batches of {BATCH}", started)
    return totals


def say(done: str, count: int, how: str, started: float) -> None:
    seconds = time.perf_counter() - started
    print(f"{done:>9} {count:>7,} orders in {seconds:4.1f} s, {count / seconds:>7,.0f} a second, {how}")


def show(totals: Totals) -> None:
    print(f"\n{'region':<8}{'orders':>8}{'amount':>12}")
    for region, total in totals.items():
        print(f"{region:<8}{total['orders']:>8,}{total['amount']:>12,}")


async def show_accounts(jetstream: JetStreamContext) -> None:
    """Ask the server what it still holds for us: nothing may be lost on the way."""
    info = await jetstream.consumer_info("ORDERS", "demo")
    print(f"\n{info.num_pending} orders not delivered, {info.num_ack_pending} not yet acknowledged")


if __name__ == "__main__":
    sys.exit(main())
