"""`penstock batches`: what is being processed, by the workers' own words and by the ledger that outlives them."""

from collections.abc import AsyncIterator

import pytest

from tests.operator.cli.commands import Declared
from tests.operator.cli.groups import Shop, shop
from tests.testbed.nats.server import NatsServer


@pytest.fixture
async def orders(declared: Declared, server: NatsServer, fresh_name: str) -> AsyncIterator[Shop]:
    async with shop(declared, server.url, fresh_name, group=f"orders-{fresh_name}") as made:
        yield made


async def test_a_batch_that_runs_is_shown_with_what_it_is_about(orders: Shop) -> None:
    async with orders.holding(5) as held:
        [_, batch] = (await orders.data("batches"))["batches"]
        table = (await orders.run("batches", orders.group)).stdout.splitlines()
        held.free.set()
        await orders.work.until(pending=0)
    assert batch["id"].startswith(f"{orders.work.stream}.etl.2-6.")
    told = (batch["group"], batch["worker"], batch["state"], batch["messages"], batch["attempt"])
    assert told == (f"default/{orders.group}", f"{orders.group}-0", "Running", 5, 1)
    assert batch["bytes"] >= 5
    assert (batch["ranges"], batch["deadlineSeconds"]) == ("2-6", 600)
    assert batch["ageSeconds"] >= 0, "it is written down, too"
    assert table[0].split()[:4] == ["GROUP", "BATCH", "WORKER", "STATE"]
    assert table[2].split()[1] == batch["id"]


async def killed_over_a_batch(orders: Shop) -> None:
    """Have a worker die while it runs a batch of one message."""
    await orders.work.publish_many(1)
    driver, engine = orders.work.driver_process("hang"), orders.work.program()
    driver.start()
    engine.start()
    try:
        await orders.work.eventually(lambda: "hanging" in driver.log_tail())
    finally:
        engine.kill()
        driver.kill()


async def test_a_batch_whose_worker_was_killed_is_known_by_the_ledger(orders: Shop) -> None:
    await killed_over_a_batch(orders)
    outcome = await orders.run("batches")
    assert f"QueueGroup default/{orders.group}: No worker answers." in outcome.stderr
    [batch] = (await orders.data("batches"))["batches"]
    assert (batch["state"], batch["messages"], batch["worker"]) == ("Collected", 1, f"{orders.group}-0")


async def test_a_stream_made_anew_has_no_batches_of_the_one_before(orders: Shop) -> None:
    await killed_over_a_batch(orders)
    config = (await orders.work.js.streams.info(orders.work.stream)).config
    await orders.work.js.streams.delete(orders.work.stream)
    await orders.work.js.streams.create({"name": orders.work.stream, "subjects": config["subjects"]})
    await orders.work.consumer()
    assert await orders.data("batches") == {"batches": []}


async def test_a_worker_that_is_not_ready_says_why(orders: Shop) -> None:
    async with orders.work.working():
        await orders.work.until_status(lambda told: not told["ready"])
        assert "The driver is not ready." in (await orders.run("batches")).stderr
