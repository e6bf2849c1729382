"""Engine and driver as they work together: messages on a real server, through real Spark, into files."""

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
    """A scene whose driver is the real one: its function does what the stream is called."""
    async with scene(shared_servers.get(NEWEST).url, "write") as made:
        await made.consumer()
        made.settings = replace(made.settings, socket=driver.settings.socket)
        yield made
        await made.js.streams.delete("write")


async def test_messages_become_rows_of_files_each_once(work: Scene, driver: RunningDriver) -> None:
    await work.publish_many(COUNT)
    stop = await work.drained()
    assert stop.code == 0
    folders = [folder for folder in driver.jobs_folder.iterdir() if folder.name.startswith("write.etl.")]
    tables = await asyncio.to_thread(lambda: [pq.read_table(folder) for folder in folders])
    rows = [(row["seq"], row["data"]) for table in tables for row in table.select(["seq", "data"]).to_pylist()]
    assert sorted(rows) == [(number, b"%d" % number) for number in range(1, COUNT + 1)]
    await work.assert_all_settled()
