"""pytest's side of the testbed: the run's life, fixtures, and what a failing test shows.

The first process of a session owns the run; parallel ones (xdist) belong to it. Under CI=true a skipped test is a
failure: nothing passes because something real was missing.
"""

import os
import signal
from collections.abc import Generator, Iterator

import pytest

from tests.testbed import programs, run

pytest_plugins = (
    "tests.testbed.kubernetes.fixtures",
    "tests.testbed.nats.fixtures",
    "tests.testbed.nats.shared",
    "tests.testbed.spark.fixtures",
)

OWNER = pytest.StashKey[run.Owner]()
LOG_STARTS = pytest.StashKey[dict[str, int]]()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Run one process more than there are processors: tests wait for servers much of their time."""
    return (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell has its background jobs ignore it
        signal.signal(signal.SIGINT, signal.default_int_handler)  # and what tests start would inherit that
    if run.VARIABLE not in os.environ:
        config.stash[OWNER] = run.Owner()


def pytest_unconfigure(config: pytest.Config) -> None:
    owner = config.stash.get(OWNER, None)
    if owner is not None:
        owner.end()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep all tests of the classic Spark API in one parallel process, and so in one JVM."""
    for item in items:
        if "classic_spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("classic-spark"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Remember where each running server's log stands before the test."""
    item.stash[LOG_STARTS] = {name: log.stat().st_size for name, log in list(programs.logs.items()) if log.exists()}
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a failure what the servers said during the test, and turn skips into failures under CI."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"Skipped, which is a failure under CI=true: {call.excinfo and call.excinfo.value}"
    if report.failed:
        report.sections.extend(_server_logs(item.stash.get(LOG_STARTS, {})))
    return report


def _server_logs(starts: dict[str, int]) -> Iterator[tuple[str, str]]:
    for name, log in list(programs.logs.items()):  # a thread may be starting a server
        if log.exists() and (said := programs.tail(log, start=starts.get(name, 0))):
            yield f"log of {name}", said
