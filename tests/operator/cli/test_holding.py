"""`penstock pause`, `resume` and `drain` on this machine: a group stops pulling and goes on, and loses no message."""

import asyncio
from pathlib import Path

from penstock_operator.local.state import StateFolder
from tests.operator.cli.groups import HANDLER, RunningGroup


async def test_a_paused_group_pulls_nothing_until_it_is_resumed(orders: RunningGroup) -> None:
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


async def test_a_pause_can_wait_until_workers_hold_no_messages(orders: RunningGroup) -> None:
    async with orders.running_batches(5) as released:
        unfinished = await orders.run("pause", orders.group, "--wait", "--timeout", "0.2")
        assert (unfinished.exit_code, "still hold messages" in unfinished.stderr) == (1, True)
        waiting = asyncio.create_task(orders.run("pause", orders.group, "--wait"))
        released.set()
        assert (await waiting).exit_code == 0
        await orders.work.until(pending=0)


async def test_a_pause_is_stored_in_the_state_folder_of_up(orders: RunningGroup, tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "state").group("default", orders.group)
    folder.path.mkdir(parents=True)
    state = ("--state", tmp_path / "state")
    paused = await orders.run("pause", orders.group, *state)
    assert paused.stderr == f"QueueGroup default/{orders.group} is paused: no worker runs.\n"
    assert folder.is_suspended
    refused = await orders.run("drain", orders.group, *state)
    assert (refused.exit_code, "penstock resume" in refused.stderr) == (1, True)
    for _ in range(2):
        assert (await orders.run("resume", orders.group, *state)).exit_code == 0
        assert not folder.is_suspended


async def test_a_drain_pauses_once_all_messages_are_processed(orders: RunningGroup) -> None:
    async with orders.running_batches(5) as released:
        late = await orders.run("drain", orders.group, "--timeout", "0.2")
        assert (late.exit_code, late.stderr) == (1, "It is not drained, and goes on.\n")
        draining = asyncio.create_task(orders.run("drain", orders.group))
        await orders.work.publish_many(5)
        released.set()
        assert (await draining).exit_code == 0
        told = await orders.work.until_status(lambda told: "paused" in told["holds"])
        assert told["heldMessages"] == 0
    await orders.work.assert_all_settled()


async def test_a_missing_group_is_an_error(orders: RunningGroup) -> None:
    for verb in ("pause", "resume", "drain"):
        assert (await orders.run(verb)).exit_code == 2
        missing = await orders.run(verb, "missing")
        assert (missing.exit_code, missing.stderr.startswith("Error: There is no QueueGroup missing.")) == (1, True)
    orders.declared.write("QueueGroup", "lost", consumerRef={"name": "nowhere"}, handler=HANDLER)
    outcome = await orders.run("pause", "lost")
    assert outcome.exit_code == 1
    assert "QueueGroup default/lost: spec.consumerRef: There is no Consumer default/nowhere." in outcome.stderr
