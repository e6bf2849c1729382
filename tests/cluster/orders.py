"""Numbered orders for examples/orders, and the account of what became of them.

The example's function writes for each region how many orders there were, and the sum of their amounts. The amount of an
order is its number, so that a lost order and another that is written twice don't cancel out.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pyarrow.parquet as pq

from penstock_jetstream import Connection, ConsumerInfo, JetStream, Retry
from tests.cluster.stage import Stage, apply_example, kubectl, offer_volume
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.waiting import eventually_async

T = TypeVar("T")
GROUP = "orders-etl"
STREAM, CONSUMER, DEAD = "ORDERS", "etl", "ORDERS-etl-dead"
REGIONS = ("north", "east", "south", "west")
EACH_POISON = 10_000
"""Each such number is a message that is not an order."""
ORDER = '{"id": 1, "region": "north", "amount": 9.5}'
IN_FLIGHT = 2_000
PUBLISH_SECONDS = 180
"""Within which a message is confirmed, also if the server is restarted meanwhile."""
SLICE = 250
SECONDS = 240
Totals = dict[str, Counter[str]]


def ask(url: str, question: Callable[[JetStream], Awaitable[T]]) -> T:
    """Connect to a server, and return the answer to one question."""

    async def asking() -> T:
        async with Connection(url) as connection:
            return await question(JetStream(connection))

    return asyncio.run(asking())


def publish_texts(url: str, subject: str, count: int, text: str = "a message") -> None:
    """Publish the same message so many times."""

    async def publish(js: JetStream) -> None:
        async with js.publisher() as publisher:
            await asyncio.gather(*[await publisher.submit(subject, text.encode()) for _ in range(count)])

    ask(url, publish)


def stored(url: str, stream: str) -> int:
    """Return how many messages a stream has."""
    return ask(url, lambda js: js.streams.info(stream)).state.messages


@dataclass
class Orders:
    """All orders that were published, and where to ask for them."""

    url: str
    lake: Path
    """The folder of the volume that the example writes to."""
    published: int = 0
    poison: int = 0
    totals: Totals = field(default_factory=lambda: {region: Counter() for region in REGIONS})

    def publish(self, count: int, per_second: float = 1e9) -> None:
        """Publish more, no faster than this rate; all are stored when it returns."""
        numbers = range(self.published + 1, self.published + count + 1)
        ask(self.url, lambda js: self._publish(js, numbers, per_second))
        self.published = numbers[-1]

    @contextmanager
    def publishing(self, count: int, per_second: float) -> Iterator[None]:
        """Publish while the block runs, and wait until all are stored."""
        with ThreadPoolExecutor(max_workers=1) as thread:
            publishing = thread.submit(self.publish, count, per_second)
            yield
            publishing.result()

    def _order(self, number: int) -> tuple[str, bytes]:
        region = REGIONS[number % len(REGIONS)]
        if number % EACH_POISON == 0:
            self.poison += 1
            return region, b"pardon?"
        self.totals[region].update(orders=1, amount=number)
        return region, json.dumps({"id": number, "region": region, "amount": number}).encode()

    async def _publish(self, js: JetStream, numbers: range, per_second: float) -> None:
        began = asyncio.get_running_loop().time()
        retry = Retry(attempts=-1)
        async with js.publisher(max_in_flight=IN_FLIGHT, retry=retry, timeout_seconds=PUBLISH_SECONDS) as publisher:
            acks = []
            for sent, number in enumerate(numbers):
                if sent % SLICE == 0:
                    ahead = began + sent / per_second - asyncio.get_running_loop().time()
                    await asyncio.sleep(ahead)  # calm: the publisher keeps to a rate
                region, order = self._order(number)
                acks.append(await publisher.submit(f"orders.{region}", order, message_id=str(number)))
            await asyncio.gather(*acks)

    def info(self) -> ConsumerInfo:
        return ask(self.url, lambda js: js.consumers.info(STREAM, CONSUMER))

    def wait_held(self) -> None:
        """Wait until a worker has unacknowledged messages."""
        self._wait(lambda info: info.num_ack_pending > 0)

    def is_drained(self) -> bool:
        info = self.info()
        return info.ack_floor.stream_sequence == self.published and not info.num_pending

    def wait_settled(self) -> None:
        """Wait until every message of the stream is settled."""
        last = ask(self.url, lambda js: js.streams.info(STREAM)).state.last_sequence
        self._wait(lambda info: info.ack_floor.stream_sequence >= last)

    def _wait(self, condition: Callable[[ConsumerInfo], bool]) -> None:
        async def wait(js: JetStream) -> None:
            async def holds() -> bool:
                return condition(await js.consumers.info(STREAM, CONSUMER))

            await eventually_async(holds, f"the condition of consumer {CONSUMER}", SECONDS)

        ask(self.url, wait)

    def deliveries(self) -> int:
        """Return the number of deliveries, redeliveries among them."""
        return self.info().delivered.consumer_sequence

    def dead(self) -> int:
        return stored(self.url, DEAD)

    def remove(self) -> None:
        """Delete the streams and their messages."""

        async def delete(js: JetStream) -> None:
            for stream in [name async for name in js.streams.names() if name in (STREAM, DEAD)]:
                await js.streams.delete(stream)

        ask(self.url, delete)

    def in_lake(self) -> Totals:
        """Return the totals of what was written, read with Arrow, not with Spark."""
        found: Totals = {region: Counter() for region in REGIONS}
        for file in (self.lake / "orders").glob("batch=*/*.parquet"):
            for row in pq.ParquetFile(file).read(columns=["region", "orders", "amount"]).to_pylist():
                found[row["region"]].update(orders=row["orders"], amount=int(row["amount"]))
        return found


@contextmanager
def shop_of(stage: Stage, name: str) -> Iterator[tuple[Namespace, Orders]]:
    """Yield the example in a namespace of its own, with no worker yet; delete its streams afterwards."""
    with stage.namespace(name) as namespace:
        orders = Orders(stage.nats, offer_volume(stage.node, name, "orders-lake"))
        apply_example(namespace, "orders", "orders/etl.py")
        kubectl(namespace, "wait", "--for=condition=Ready", f"queuegroup/{GROUP}", "--timeout=120s")
        try:
            yield namespace, orders
        finally:
            kubectl(namespace, "delete", "queuegroups,consumers.penstock.dev,streams.penstock.dev", "--all")
            orders.remove()
