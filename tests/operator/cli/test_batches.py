"""`penstock batches`: the running batches that workers report, and those that only the ledger has."""

from tests.operator.cli.groups import RunningGroup
from tests.testbed.waiting import eventually_async


async def test_a_running_batch_is_shown_with_its_messages(orders: RunningGroup) -> None:
    async with orders.running_batches(5) as batches:
        [_, batch] = (await orders.data("batches"))["batches"]
        table = (await orders.run("batches", orders.group)).stdout.splitlines()
        batches.released.set()
        await orders.work.until(pending=0)
    assert batch["id"].startswith(f"{orders.work.stream}.etl.2-6.")
    told = (batch["group"], batch["worker"], batch["state"], batch["messages"], batch["attempt"])
    assert told == (f"default/{orders.group}", f"{orders.group}-0", "Running", 5, 1)
    assert batch["bytes"] >= 5
    assert (batch["ranges"], batch["deadlineSeconds"]) == ("2-6", 600)
    assert batch["ageSeconds"] >= 0, "the ledger has it, too"
    assert table[0].split()[:4] == ["GROUP", "BATCH", "WORKER", "STATE"]
    assert table[2].split()[1] == batch["id"]


async def test_a_batch_of_a_killed_worker_is_shown_until_its_stream_is_replaced(orders: RunningGroup) -> None:
    await orders.work.publish_many(1)
    driver, engine = orders.work.driver_process("hang"), orders.work.program()
    driver.start()
    engine.start()
    try:
        await eventually_async(lambda: "hanging" in driver.log_tail(), "the batch runs")
    finally:
        engine.kill()
        driver.kill()
    outcome = await orders.run("batches")
    assert f"QueueGroup default/{orders.group}: No worker answers." in outcome.stderr
    [batch] = (await orders.data("batches"))["batches"]
    assert (batch["state"], batch["messages"], batch["worker"]) == ("Collected", 1, f"{orders.group}-0")
    config = (await orders.work.js.streams.info(orders.work.stream)).config
    await orders.work.js.streams.delete(orders.work.stream)
    await orders.work.js.streams.create({"name": orders.work.stream, "subjects": config["subjects"]})
    await orders.work.consumer()
    assert await orders.data("batches") == {"batches": []}


async def test_a_worker_that_is_not_ready_says_why(orders: RunningGroup) -> None:
    async with orders.work.working():
        await orders.work.until_status(lambda told: not told["ready"])
        assert "The driver is not ready." in (await orders.run("batches")).stderr
