"""A worker of the local backend: when it counts as idle, and which of several end first."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock_operator.local.children import Guard
from penstock_operator.local.worker import Worker, removal_order


def worker(name: str, status: Mapping[str, Any] | None = None) -> Worker:
    """Return a worker that was not started, with what its engine answered, if it did."""
    made = Worker(
        name=name,
        folder=Path(),
        settings={},
        environment={},
        guard=Guard(lock=-1, hurry=Path()),
        hear=lambda _: None,
        begins=lambda _: None,
    )
    made.hear_status(status)
    return made


async def test_idle_workers_end_first_and_of_these_the_youngest() -> None:
    """A worker that does not answer may hold messages: it is not idle, unless it has only just been started."""
    silent = worker("silent", {"batches": []})
    silent.hear_status(None)
    process = await asyncio.create_subprocess_exec("sleep", "3600")
    silent.engine.child.process = process
    busy, starting = worker("busy", {"batches": ["S.c.1-5"]}), worker("starting")
    in_order_of_start = [worker("oldest", {"batches": []}), busy, silent, worker("idle", {"batches": []}), starting]
    try:
        names = [each.name for each in removal_order(in_order_of_start)]
    finally:
        process.kill()
        await process.wait()
    assert names == ["starting", "idle", "oldest", "silent", "busy"]
