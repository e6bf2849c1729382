"""Engine and driver together: messages on a real server, through real Spark, into files."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from tests.testbed.nats.shared import NEWEST, SharedServers
from tests.worker.driver.driving import RunningDriver
from tests.worker.engine.working import Scene, scene

COUNT = 500


@pytest.fixture
async def work(driver: RunningDriver, shared_servers: SharedServers) -> AsyncIterator[Scene]:
    """A scene with the real driver, whose job is named by the stream."""
    async with scene(shared_servers.get(NEWEST).url, "write") as made:
        await made.consumer()
        made.settings = replace(made.settings, socket=driver.settings.socket)
        yield made
        await made.js.streams.delete("write")


@pytest.mark.interpreter
async def test_each_message_becomes_one_row_of_a_file(work: Scene, driver: RunningDriver) -> None:
    await work.publish_many(COUNT)
    stop = await work.drained()
    assert stop.code == 0
    folders = [folder for folder in driver.jobs_folder.iterdir() if folder.name.startswith("write.etl.")]
    tables = await asyncio.to_thread(lambda: [pq.read_table(folder) for folder in folders])
    rows = [(row["seq"], row["data"]) for table in tables for row in table.select(["seq", "data"]).to_pylist()]
    assert sorted(rows) == [(number, b"%d" % number) for number in range(1, COUNT + 1)]
    await work.assert_all_settled()
