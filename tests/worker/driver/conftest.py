"""One driver with Spark in threads, shared by all tests of a process: each start takes seconds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.testbed import ports
from tests.worker.driver.driving import LONG_SECONDS, RunningDriver


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep all tests of the shared driver in one parallel process, and give JVMs time to start."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(2 * LONG_SECONDS))
            if "running" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group("driver-local"))


@pytest.fixture(scope="package")
def running() -> Iterator[RunningDriver]:
    port = ports.free_port()
    with RunningDriver(probes=f"{ports.LOOPBACK}:{port}") as driver:
        yield driver
    ports.release(port)


@pytest.fixture
def driver(running: RunningDriver) -> RunningDriver:
    """Return the shared driver once it is ready; an earlier test may have ended it, or its Spark."""
    if not running.program.is_running:
        running.program.start()
    running.wait_ready()
    return running
