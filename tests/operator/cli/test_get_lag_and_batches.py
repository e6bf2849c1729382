"""`penstock get`, `lag` and `batches` on this machine: declared objects and running batches on their servers."""

import yaml

from penstock_jetstream import JetStream
from tests.operator.cli.commands import Declared
from tests.operator.cli.groups import RunningGroup
from tests.testbed.waiting import eventually_async


def test_get_shows_each_object_and_why_it_is_not_ready(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name, subjects=[fresh_name])
    declared.consumer(f"{fresh_name}-etl", fresh_name)
    declared.run("apply")
    declared.ask(lambda jetstream: publish(jetstream, fresh_name, 3))
    declared.stream("orders", name=f"{fresh_name}-missing")
    outcome = declared.run("get")
    assert outcome.exit_code == 0
    rows = [line.split(maxsplit=6) for line in outcome.stdout.splitlines()]
    assert rows[0] == ["KIND", "NAMESPACE", "NAME", "READY", "REASON", "AGE", "THERE IS"]
    assert [row[:5] for row in rows[1:]] == [
        ["Connection", "default", "nats", "True", "Connected"],
        ["Stream", "default", "orders", "False", "Missing"],
        ["Stream", "default", fresh_name, "True", "InSync"],
        ["Consumer", "default", f"{fresh_name}-etl", "True", "InSync"],
    ]
    assert rows[3][6].startswith("3 messages, ")
    assert rows[4][6] == "3 pending, 0 unacknowledged"
    assert outcome.stderr == "Stream default/orders: It is not on the server.\n"


def test_get_takes_a_kind_by_any_of_its_names_and_an_object(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name, description="old")
    declared.run("apply")
    declared.stream(fresh_name, description="new")
    declared.stream("orders", name=f"{fresh_name}-missing")
    for kind in ("stream", "streams", "Stream", "jstream"):
        assert [each["metadata"]["name"] for each in declared.data("get", kind)["items"]] == ["orders", fresh_name]
    [found] = yaml.safe_load(declared.run("get", "stream", fresh_name, "-o", "yaml").stdout)["items"]
    [ready] = found["status"]["conditions"]
    assert (found["kind"], ready["status"], ready["reason"]) == ("Stream", "False", "Drifted")
    assert ready["message"] == "description: old is to be new."
    assert found["spec"]["description"] == "new"
    missing = declared.run("get", "stream", "nothing")
    assert (missing.exit_code, missing.stderr) == (1, "Error: There is no Stream nothing.\n")


def test_lag_shows_pending_and_unacknowledged_messages(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name, subjects=[fresh_name])
    declared.consumer("etl", fresh_name)
    assert declared.data("lag")["consumers"] == [{"namespace": "default", "name": "etl", "state": "Missing"}]
    assert declared.run("lag", "missing").exit_code == 1
    declared.run("apply")
    declared.ask(lambda jetstream: publish(jetstream, fresh_name, 5))
    declared.ask(lambda jetstream: take(jetstream, fresh_name, "etl", 2))
    [found] = declared.data("lag")["consumers"]
    expected = {"name": "etl", "streamName": fresh_name, "consumerName": "etl", "pending": 3, "ackPending": 2}
    assert found.items() >= {**expected, "state": "Ready"}.items()
    heading, row = (line.split() for line in declared.run("lag").stdout.splitlines())
    assert dict(zip(heading, row, strict=True))["PENDING"] == "3"
    declared.stream(fresh_name, subjects=[fresh_name], storage="Memory")
    [found] = declared.data("lag")["consumers"]
    assert (found["pending"], found["state"]) == (3, "StreamNotReady"), "the stream is refused"
    rows = {row.split()[0]: row for row in declared.run("get").stdout.splitlines()}
    assert "Immutable" in rows["Stream"]
    assert "3 pending" in rows["Consumer"]


async def publish(jetstream: JetStream, stream: str, number: int) -> None:
    """Publish to a stream whose subject is its name, and wait until its consumers count all messages."""
    for _ in range(number):
        last = (await jetstream.publish(stream, b"an order")).sequence

    async def is_counted() -> bool:
        infos = [info async for info in jetstream.consumers.list(stream)]
        return all(info.delivered.stream_sequence + info.num_pending == last for info in infos)

    await eventually_async(is_counted, "consumers count all messages")


async def take(jetstream: JetStream, stream: str, consumer: str, number: int) -> None:
    """Take messages, and acknowledge none."""
    assert len(await jetstream.consumer(stream, consumer).fetch(number)) == number


async def test_a_group_on_this_machine_shows_its_workers_as_one_in_a_cluster_does(orders: RunningGroup) -> None:
    expected = {
        "NAME": orders.group,
        "READY": "True",
        "LAG": "0",
        "UNACKED": "6",
        "HELD": "6",
        "BUSY": "1",
        "WORKERS": "1",
    }
    async with orders.running_batches(5) as released:
        heading, row = ((await orders.run("get", "queuegroups")).stdout).splitlines()
        cells = dict(zip(heading.split(), row.split(), strict=True))
        assert {name: cells[name] for name in expected} == expected
        released.set()


async def test_a_running_batch_is_shown_with_its_messages(orders: RunningGroup) -> None:
    async with orders.running_batches(5) as released:
        [_, batch] = (await orders.data("batches"))["batches"]
        table = (await orders.run("batches", orders.group)).stdout.splitlines()
        released.set()
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
