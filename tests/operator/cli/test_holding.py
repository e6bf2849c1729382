"""`penstock pause`, `resume` and `drain`: a group pulls no more and goes on again, and nothing is lost meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock_operator.local.state import StateFolder
from tests.operator.cli.commands import Declared
from tests.operator.cli.groups import Shop, shop
from tests.testbed.nats.server import NatsServer


@pytest.fixture
async def orders(declared: Declared, server: NatsServer, fresh_name: str) -> AsyncIterator[Shop]:
    async with shop(declared, server.url, fresh_name, group=f"orders-{fresh_name}") as made:
        yield made


async def test_a_paused_group_pulls_nothing_until_it_is_resumed(orders: Shop) -> None:
    with orders.work.driver():
        async with orders.work.working():
            await orders.work.until_status(lambda told: told["ready"])
            paused = await orders.run("pause", orders.group)
            assert f"QueueGroup default/{orders.group} is paused: 1 worker has heard it." in paused.stderr
            assert "Workers that start later do not know of it" in paused.stderr
            await orders.work.until_status(lambda told: "paused" in told["holds"])
            await orders.work.publish_many(5)
            await orders.work.until(pending=5)
            resumed = await orders.run("resume", orders.group)
            assert resumed.stderr == f"QueueGroup default/{orders.group} goes on.\n"
            await orders.work.until(pending=0)


async def test_a_pause_can_wait_until_nothing_is_held(orders: Shop) -> None:
    async with orders.holding(5) as held:
        unfinished = await orders.run("pause", orders.group, "--wait", "--timeout", "0.2")
        assert (unfinished.exit_code, "still hold messages" in unfinished.stderr) == (1, True)
        waiting = asyncio.create_task(orders.run("pause", orders.group, "--wait"))
        held.free.set()
        assert (await waiting).exit_code == 0
        await orders.work.until(pending=0)


async def test_a_pause_is_kept_where_penstock_up_finds_it(orders: Shop, tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "state").group("default", orders.group)
    folder.path.mkdir(parents=True)
    state = ("--state", tmp_path / "state")
    paused = await orders.run("pause", orders.group, *state)
    assert paused.stderr == f"QueueGroup default/{orders.group} is paused: no worker runs.\n"
    assert folder.is_suspended
    refused = await orders.run("drain", orders.group, *state)
    assert (refused.exit_code, "penstock resume" in refused.stderr) == (1, True)
    assert (await orders.run("resume", orders.group, *state)).exit_code == 0
    assert not folder.is_suspended


async def test_a_drain_waits_until_everything_is_processed_and_pauses_then(orders: Shop) -> None:
    async with orders.holding(5) as held:
        late = await orders.run("drain", orders.group, "--timeout", "0.2")
        assert (late.exit_code, late.stderr) == (1, "It is not drained, and goes on.\n")
        draining = asyncio.create_task(orders.run("drain", orders.group))
        await orders.work.publish_many(5)
        held.free.set()
        assert (await draining).exit_code == 0
        told = await orders.work.until_status(lambda told: "paused" in told["holds"])
        assert told["heldMessages"] == 0
    await orders.work.assert_all_settled()


async def test_a_group_has_to_be_named_and_to_be_there(orders: Shop) -> None:
    for verb in ("pause", "resume", "drain"):
        assert (await orders.run(verb)).exit_code == 2
        missing = await orders.run(verb, "nobody")
        assert (missing.exit_code, missing.stderr.startswith("Error: There is no QueueGroup nobody.")) == (1, True)


async def test_a_group_whose_consumer_is_not_declared_is_said_so(orders: Shop, declared: Declared) -> None:
    handler = {"entrypoint": "etl:process", "configMapRef": {"name": "code"}}
    declared.write("QueueGroup", "lost", consumerRef={"name": "nowhere"}, handler=handler)
    outcome = await orders.run("pause", "lost")
    assert outcome.exit_code == 1
    assert "QueueGroup default/lost: spec.consumerRef: There is no Consumer default/nowhere." in outcome.stderr
