"""Orders by the thousand for examples/orders, each with a number, and the account of what became of them.

Knows what the example's function writes: for each region how many orders there were, and the sum of their amounts. The
amount of an order is its number, so that one which is lost and another that comes twice do not make up for each other.
"""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow.parquet as pq

from penstock_jetstream import Connection, ConsumerInfo, JetStream, Publisher, Retry
from tests.cluster.stage import Stage, apply_example, kubectl
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.volumes import offer_volume
from tests.testbed.waiting import eventually_async

T = TypeVar("T")
GROUP = "orders-etl"
STREAM, CONSUMER, DEAD = "ORDERS", "etl", "ORDERS-etl-dead"
REGIONS = ("north", "east", "south", "west")
EACH_POISON = 10_000
"""One order in so many is none."""
ORDER = '{"id": 1, "region": "north", "amount": 9.5}'
IN_FLIGHT = 2_000
PUBLISH_SECONDS = 180
"""Within which a message is confirmed, though the server is away for a while."""
SLICE = 250
SECONDS = 240
Totals = dict[str, Counter[str]]


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
        """Publish more, no faster than told; all are stored when it returns."""
        numbers = range(self.published + 1, self.published + count + 1)
        asyncio.run(self._publish(numbers, per_second))
        self.published = numbers[-1]

    @contextmanager
    def publishing(self, count: int, per_second: float) -> Iterator[None]:
        """Publish meanwhile."""
        problems: list[Exception] = []

        def publish() -> None:
            try:
                self.publish(count, per_second)
            except Exception as problem:  # noqa: BLE001 - raised where somebody hears of it
                problems.append(problem)

        thread = threading.Thread(target=publish)
        thread.start()
        try:
            yield
        finally:
            thread.join()
        for problem in problems:
            raise problem

    def _order(self, number: int) -> tuple[str, bytes]:
        region = REGIONS[number % len(REGIONS)]
        if number % EACH_POISON == 0:
            self.poison += 1
            return region, b"pardon?"
        self.totals[region].update(orders=1, amount=number)
        return region, json.dumps({"id": number, "region": region, "amount": number}).encode()

    async def _publish(self, numbers: range, per_second: float) -> None:
        began = asyncio.get_running_loop().time()
        async with Connection(self.url) as connection, self._publisher(connection) as publisher:
            acks = []
            for sent, number in enumerate(numbers):
                if sent % SLICE == 0:
                    ahead = began + sent / per_second - asyncio.get_running_loop().time()
                    await asyncio.sleep(ahead)  # calm: the publisher keeps to a rate
                region, order = self._order(number)
                acks.append(await publisher.submit(f"orders.{region}", order, message_id=str(number)))
            await asyncio.gather(*acks)

    def _publisher(self, connection: Connection) -> Publisher:
        retry = Retry(attempts=-1)
        return JetStream(connection).publisher(max_in_flight=IN_FLIGHT, retry=retry, timeout_seconds=PUBLISH_SECONDS)

    def ask(self, question: Callable[[JetStream], Awaitable[T]]) -> T:
        async def asking() -> T:
            async with Connection(self.url) as connection:
                return await question(JetStream(connection))

        return asyncio.run(asking())

    def info(self) -> ConsumerInfo:
        return self.ask(lambda js: js.consumers.info(STREAM, CONSUMER))

    def wait_held(self) -> None:
        """Wait until somebody works on some."""
        self._wait(lambda info: info.num_ack_pending > 0)

    def is_drained(self) -> bool:
        info = self.info()
        return info.ack_floor.stream_sequence == self.published and not info.num_pending

    def wait_settled(self) -> None:
        """Wait until all that there is in the stream is settled."""
        last = self.ask(lambda js: js.streams.info(STREAM)).state.last_sequence
        self._wait(lambda info: info.ack_floor.stream_sequence >= last)

    def _wait(self, condition: Callable[[ConsumerInfo], bool]) -> None:
        async def wait(js: JetStream) -> None:
            async def holds() -> bool:
                return condition(await js.consumers.info(STREAM, CONSUMER))

            await eventually_async(holds, f"the condition of consumer {CONSUMER}", SECONDS)

        self.ask(wait)

    def deliveries(self) -> int:
        """Return how many messages were delivered, those delivered again counted each time."""
        return self.info().delivered.consumer_sequence

    def dead(self) -> int:
        return self.ask(lambda js: js.streams.info(DEAD)).state.messages

    def remove(self) -> None:
        """Delete the streams, with what is in them."""
        for stream in self.ask(_names):
            if stream in (STREAM, DEAD):
                self.ask(partial(_delete, stream))

    def in_lake(self) -> Totals:
        """Add up what was written, with Arrow: Spark need not be believed."""
        found: Totals = {region: Counter() for region in REGIONS}
        for file in (self.lake / "orders").glob("batch=*/*.parquet"):
            for row in pq.ParquetFile(file).read(columns=["region", "orders", "amount"]).to_pylist():
                found[row["region"]].update(orders=row["orders"], amount=int(row["amount"]))
        return found

    def batches(self) -> int:
        return len(list((self.lake / "orders").glob("batch=*")))

    def account(self) -> str:
        """Return the account as a table."""
        found = self.in_lake()
        rows = [f"{'region':<10}{'published':>12}{'in Parquet':>12}{'amount':>18}{'in Parquet':>18}"]
        for region in REGIONS:
            ours, theirs = self.totals[region], found[region]
            rows.append(
                f"{region:<10}{ours['orders']:>12,}{theirs['orders']:>12,}{ours['amount']:>18,}{theirs['amount']:>18,}"
            )
        rows.append(f"{'poison':<10}{self.poison:>12,}{self.dead():>12,} dead letters")
        return "\n".join(rows)


async def _names(js: JetStream) -> list[str]:
    return [name async for name in js.streams.names()]


async def _delete(name: str, js: JetStream) -> None:
    await js.streams.delete(name)


@contextmanager
def shop_of(stage: Stage, name: str) -> Iterator[tuple[Namespace, Orders]]:
    """Have the example in a namespace of its own, with nobody at work yet; its stream goes with it."""
    with stage.namespace(name) as namespace:
        orders = Orders(stage.nats, offer_volume(stage.node, name, "orders-lake"))
        apply_example(namespace, "orders", "orders/etl.py")
        kubectl(namespace, "wait", "--for=condition=Ready", f"queuegroup/{GROUP}", "--timeout=120s")
        try:
            yield namespace, orders
        finally:
            kubectl(namespace, "delete", "queuegroups,consumers.penstock.dev,streams.penstock.dev", "--all")
            orders.remove()


def publish_texts(url: str, subject: str, count: int, text: str = "a message") -> None:
    """Publish the same message so many times."""

    async def publish() -> None:
        async with Connection(url) as connection, JetStream(connection).publisher() as publisher:
            await asyncio.gather(*[await publisher.submit(subject, text.encode()) for _ in range(count)])

    asyncio.run(publish())


def stored(url: str, stream: str) -> int:
    """Return how many messages a stream has."""

    async def ask() -> int:
        async with Connection(url) as connection:
            return (await JetStream(connection).streams.info(stream)).state.messages

    return asyncio.run(ask())
