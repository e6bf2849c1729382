"""The first look: orders go into JetStream, some of them poison, and Spark makes Parquet of the others.

usage: python examples/demo.py [--orders 50000] [--keep FOLDER]

Runs the example in examples/orders as you would, by `penstock apply` and `penstock up --drain`, and counts what came
out. Everything happens on this machine, in a temporary folder that goes with the program, or in FOLDER, which stays.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

import pyarrow.parquet as pq

from penstock_jetstream import Connection, JetStream
from penstock_jetstream.errors import MissingError
from penstock_operator.local.embedded_nats import EmbeddedNatsError, embedded_nats
from penstock_operator.local.state import StateFolder

EXAMPLE = Path(__file__).parent / "orders"
STREAM = EXAMPLE / "manifests.yaml"
PENSTOCK = str(Path(sys.executable).with_name("penstock"))
REGIONS = ("north", "east", "south", "west")
POISON = (b"pardon?", b'{"id": "many", "region": "north"}', b'{"region": "east", "amount": 3}', b"")
EACH_POISON = 1000
"""One order in so many is none."""
WINDOW = 1_000
DEAD_SHOWN = 3
Totals = dict[str, Counter[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description="Lead orders from JetStream through Spark into Parquet, here and now.")
    parser.add_argument("--orders", type=int, default=50_000, help="how many orders to publish (default 50000)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="a folder for everything, which stays")
    arguments = parser.parse_args()
    place = nullcontext(arguments.keep) if arguments.keep else tempfile.TemporaryDirectory(prefix="penstock-demo-")
    try:
        with place as folder:
            return demo(Path(folder).absolute(), arguments.orders)
    except EmbeddedNatsError as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def demo(folder: Path, orders: int) -> int:
    """Publish, process, and count what came out. Return 0 if every order is where it belongs."""
    state = StateFolder(folder / "state")
    server = state.nats("default", "nats")  # where `up` will find it
    title(f"1  {orders:,} orders are published, one in {EACH_POISON:,} of them poison")
    published, poison = asyncio.run(publish(server, orders))
    title("2  penstock up -f examples/orders --drain")
    started = time.perf_counter()
    up(folder, state)
    print(f"{time.perf_counter() - started:.1f} s, with the start of NATS and Spark")
    title("3  What came of them")
    dead, left = asyncio.run(dead_letters(server))
    return show(published, poison, parquet(folder / "lake" / "orders"), dead, left)


def title(text: str) -> None:
    print(f"\n{text}\n{'─' * len(text)}", flush=True)


async def publish(server: Path, orders: int) -> tuple[Totals, int]:
    """Make the stream as it is declared, and publish; return what was published by region, and how many were poison."""
    dice, totals, poison = random.Random(7), {region: Counter[str]() for region in REGIONS}, 0
    async with embedded_nats(server) as nats, Connection(nats.url) as connection:
        await asyncio.to_thread(penstock, "apply", "-f", str(STREAM), "--server", nats.url)
        started = time.perf_counter()
        async with JetStream(connection).publisher(max_in_flight=WINDOW) as publisher:
            confirmations = []
            for number in range(orders):
                region, amount = dice.choice(REGIONS), dice.randrange(1, 500)
                order = json.dumps({"id": number, "region": region, "amount": amount}).encode()
                if number % EACH_POISON == EACH_POISON // 2:
                    order, poison = POISON[poison % len(POISON)], poison + 1
                else:
                    totals[region].update(orders=1, amount=amount)
                confirmations.append(await publisher.submit(f"orders.{region}", order))
            await asyncio.gather(*confirmations)
        print(f"{orders:,} orders, all confirmed by NATS {connection.server.version}", end="")
        print(f" in {time.perf_counter() - started:.1f} s")
    return totals, poison


def penstock(*words: str) -> None:
    subprocess.run([PENSTOCK, *words], check=True)


def up(folder: Path, state: StateFolder) -> None:
    """Run until everything is processed. Its exit code says that there are dead letters, as there are to be."""
    command = [PENSTOCK, "up", "-f", str(EXAMPLE), "--drain", "--state", str(state.path), "--port", "0"]
    subprocess.run(command, check=False, env={**os.environ, "LAKE": str(folder / "lake")})


def parquet(folder: Path) -> Totals:
    """Add up what is in the lake, with Arrow: Spark need not be believed."""
    totals: Totals = {region: Counter() for region in REGIONS}
    for file in folder.glob("batch=*/*.parquet"):
        for row in pq.ParquetFile(file).read().to_pylist():
            totals[row["region"]].update(orders=row["orders"], amount=int(row["amount"]))
    return totals


async def dead_letters(server: Path) -> tuple[list[tuple[bytes, str]], int]:
    """Return each dead letter with its reason, and how many orders the server still has for us."""
    async with embedded_nats(server) as nats, Connection(nats.url) as connection:
        js = JetStream(connection)
        info = await js.consumers.info("ORDERS", "etl")
        try:
            last = (await js.streams.info("ORDERS-etl-dead")).state.last_sequence
        except MissingError:
            last = 0
        letters = [await js.direct.get("ORDERS-etl-dead", sequence=number) for number in range(1, last + 1)]
        dead = [(letter.data, letter.headers.get("Penstock-Reason") or "") for letter in letters]
        return dead, info.num_pending + info.num_ack_pending


def show(published: Totals, poison: int, lake: Totals, dead: Iterable[tuple[bytes, str]], left: int) -> int:
    dead = list(dead)
    print(f"{'region':<14}{'published':>12}{'in Parquet':>12}{'amount':>14}{'in Parquet':>14}")
    for region in REGIONS:
        came, went = published[region], lake[region]
        print(f"{region:<14}{came['orders']:>12,}{went['orders']:>12,}", end="")
        print(f"{came['amount']:>14,}{went['amount']:>14,}")
    print(f"{'poison':<14}{poison:>12,}{len(dead):>12,} dead letters")
    for data, reason in dead[:DEAD_SHOWN]:
        print(f"{'':<14}{data.decode()!r}: {reason}")
    ours, theirs = (sum(total["orders"] for total in totals.values()) for totals in (published, lake))
    is_whole = published == lake and poison == len(dead) and not left
    print(f"\n{ours + poison:,} orders in, {theirs:,} in Parquet, {len(dead):,} dead letters, {left:,} left", end=": ")
    print("nothing is lost, and nothing twice." if is_whole else "this is not as it should be.")
    return 0 if is_whole else 1


if __name__ == "__main__":
    sys.exit(main())
