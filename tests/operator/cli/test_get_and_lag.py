"""`penstock get` and `penstock lag` in the local home: the truth about what is declared, asked of the servers."""

import yaml

from penstock_jetstream import JetStream
from tests.jetstream.eventually import eventually
from tests.operator.cli.commands import Declared, ask
from tests.operator.cli.groups import shop
from tests.testbed.nats.server import NatsServer


def test_get_tells_what_is_there_and_what_is_not_ready(declared: Declared, server: NatsServer, fresh_name: str) -> None:
    declared.stream(fresh_name, subjects=[fresh_name])
    declared.consumer(f"{fresh_name}-etl", fresh_name)
    declared.run("apply")
    ask(server.url, lambda jetstream: publish(jetstream, fresh_name, 3))
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


def test_get_can_be_narrowed_to_a_kind_by_any_of_its_names_and_to_an_object(
    declared: Declared, fresh_name: str
) -> None:
    declared.stream(fresh_name)
    declared.stream("orders")
    for kind in ("stream", "streams", "Stream", "jstream"):
        assert [each["metadata"]["name"] for each in declared.data("get", kind)["items"]] == ["orders", fresh_name]
    assert [each["kind"] for each in declared.data("get", "stream", fresh_name)["items"]] == ["Stream"]
    missing = declared.run("get", "stream", "nothing")
    assert (missing.exit_code, missing.stderr) == (1, "Error: There is no Stream nothing.\n")


def test_what_differs_is_not_ready_and_says_where(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name, description="old")
    declared.run("apply")
    declared.stream(fresh_name, description="new")
    [found] = yaml.safe_load(declared.run("get", "stream", "-o", "yaml").stdout)["items"]
    [ready] = found["status"]["conditions"]
    assert (ready["status"], ready["reason"]) == ("False", "Drifted")
    assert ready["message"] == "description: old is to be new."
    assert found["spec"]["description"] == "new"


def test_lag_counts_what_is_pending_and_what_is_not_acknowledged(
    declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    declared.stream(fresh_name, subjects=[fresh_name])
    declared.consumer("etl", fresh_name, name=f"{fresh_name}-etl")
    declared.run("apply")
    ask(server.url, lambda jetstream: publish(jetstream, fresh_name, 5))
    ask(server.url, lambda jetstream: take(jetstream, fresh_name, f"{fresh_name}-etl", 2))
    [found] = declared.data("lag")["consumers"]
    assert {name: found[name] for name in ("name", "streamName", "consumerName", "pending", "ackPending", "state")} == {
        "name": "etl",
        "streamName": fresh_name,
        "consumerName": f"{fresh_name}-etl",
        "pending": 3,
        "ackPending": 2,
        "state": "Ready",
    }
    heading, row = (line.split() for line in declared.run("lag").stdout.splitlines())
    assert dict(zip(heading, row, strict=True))["PENDING"] == "3"


def test_a_consumer_that_is_not_there_has_no_numbers(declared: Declared, fresh_name: str) -> None:
    declared.consumer("etl", fresh_name)
    declared.stream(fresh_name)
    [found] = declared.data("lag")["consumers"]
    assert found == {"namespace": "default", "name": "etl", "state": "Missing"}
    assert declared.run("lag", "nobody").exit_code == 1


def test_a_consumer_has_its_numbers_though_its_stream_is_refused(
    declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    declared.stream(fresh_name, subjects=[fresh_name])
    declared.consumer("etl", fresh_name)
    declared.run("apply")
    ask(server.url, lambda jetstream: publish(jetstream, fresh_name, 5))
    declared.stream(fresh_name, subjects=[fresh_name], storage="Memory")
    [found] = declared.data("lag")["consumers"]
    assert (found["pending"], found["state"]) == (5, "StreamNotReady")
    rows = {row.split()[0]: row for row in declared.run("get").stdout.splitlines()}
    assert "Immutable" in rows["Stream"]
    assert "5 pending" in rows["Consumer"]


async def publish(jetstream: JetStream, stream: str, number: int) -> None:
    """Publish to a stream whose subject is its name, and wait until its consumers have heard of all of it."""
    for _ in range(number):
        last = (await jetstream.publish(stream, b"an order")).sequence

    async def is_heard_of() -> bool:
        infos = [info async for info in jetstream.consumers.list(stream)]
        return all(info.delivered.stream_sequence + info.num_pending == last for info in infos)

    await eventually(is_heard_of, "consumers have heard of all messages")


async def take(jetstream: JetStream, stream: str, consumer: str, number: int) -> None:
    """Take messages, and acknowledge none."""
    assert len(await jetstream.consumer(stream, consumer).fetch(number)) == number


async def test_a_group_on_this_machine_shows_its_workers_as_one_in_a_cluster_does(
    declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    group = f"orders-{fresh_name}"
    async with shop(declared, server.url, fresh_name, group=group) as orders, orders.holding(5) as held:
        heading, row = ((await orders.run("get", "queuegroups")).stdout).splitlines()
        cells = dict(zip(heading.split(), row.split(), strict=True))
        assert {name: cells[name] for name in ("NAME", "READY", "LAG", "UNACKED", "HELD", "BUSY", "WORKERS")} == {
            "NAME": group,
            "READY": "True",
            "LAG": "0",
            "UNACKED": "6",
            "HELD": "6",
            "BUSY": "1",
            "WORKERS": "1",
        }
        held.free.set()
