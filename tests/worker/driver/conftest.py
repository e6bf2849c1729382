"""One driver with Spark in threads for all tests of one process that want it: each start takes seconds."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.worker.driver.driving import RunningDriver


@pytest.fixture(scope="package")
def running() -> Iterator[RunningDriver]:
    with RunningDriver() as driver:
        yield driver


@pytest.fixture
def driver(running: RunningDriver) -> RunningDriver:
    """Return the driver, ready; a test before may have ended it, or Spark."""
    if not running.program.is_running:
        running.program.start()
    running.wait_ready()
    return running


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as pool:
        yield pool
