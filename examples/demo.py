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

from penstock_jetstream import Connection, JetStream
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
        async with embedded_nats(Path(folder), port) as server, Connection(server.url) as connection:
            print(f"NATS {connection.server.version} serves at {server.url}\n")
            js = JetStream(connection)
            await js.streams.create({"name": "ORDERS", "subjects": ["orders.>"]})
            await js.consumers.create("ORDERS", {"durable_name": "demo", "max_ack_pending": 10 * BATCH})
            await publish(js, orders)
            totals = await consume(js, orders)
            show(totals)
            await show_accounts(js)
    print("\nThe server has stopped and its folder is gone.")


async def publish(js: JetStream, orders: int) -> None:
    """Publish without waiting for each confirmation, then check all of them."""
    dice, started = random.Random(7), time.perf_counter()
    async with js.publisher(max_in_flight=WINDOW) as publisher:
        confirmations = []
        for number in range(orders):
            region = dice.choice(REGIONS)
            order = {"id": number, "region": region, "amount": dice.randrange(1, 500)}
            confirmations.append(await publisher.submit(f"orders.{region}", json.dumps(order).encode()))
        await asyncio.gather(*confirmations)
    say("published", orders, "all confirmed by the server", started)


async def consume(js: JetStream, orders: int) -> Totals:
    """Take blocks off the lane, count, and settle the messages of a batch once they are counted."""
    totals: Totals = {region: Counter() for region in REGIONS}
    started, seen, replies = time.perf_counter(), 0, list[bytes]()
    async with js.consumer("ORDERS", "demo").lane() as lane:
        async for block in lane:
            for order in map(json.loads, block.payloads):
                totals[order["region"]].update(orders=1, amount=order["amount"])
            seen += len(block)
            replies += block.replies
            if len(replies) >= BATCH or seen == orders:
                await lane.settle(replies)
                replies = []
            if seen == orders:
                break
    say("consumed", seen, f"settled in batches of {BATCH} or a little more", started)
    return totals


def say(done: str, count: int, how: str, started: float) -> None:
    seconds = time.perf_counter() - started
    print(f"{done:>9} {count:>7,} orders in {seconds:4.1f} s, {count / seconds:>7,.0f} a second, {how}")


def show(totals: Totals) -> None:
    print(f"\n{'region':<8}{'orders':>8}{'amount':>12}")
    for region, total in totals.items():
        print(f"{region:<8}{total['orders']:>8,}{total['amount']:>12,}")


async def show_accounts(js: JetStream) -> None:
    """Ask the server what it still holds for us: nothing may be lost on the way."""
    info = await js.consumers.info("ORDERS", "demo")
    print(f"\n{info.num_pending} orders not delivered, {info.num_ack_pending} not yet acknowledged")


if __name__ == "__main__":
    sys.exit(main())
