"""What each test costs, into pytest's report; and how far a run is, with an estimate of the time left. A pytest plugin.

A test's CPU is that of its process and of the processes that it started and that have ended. Servers that tests share
end with the run, and belong to no test.
"""

import contextlib
import os
import re
import resource
import sys
import threading
import time
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from _pytest.junitxml import xml_key

from tests.testbed import run
from tools import times

LEAST_FIXTURE_SECONDS = 0.05
PROGRESS_SECONDS = 10
UNKNOWN_TEST_SECONDS = 0.1
JVM_COUNT_SECONDS = 0.5
"""Less than any JVM takes to start."""

CPU_BEGAN = pytest.StashKey[float]()

_started: Counter[str] = Counter()
_fixtures: Counter[str] = Counter()


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "print how far the run is every ten seconds, instead of a letter for each test"
    parser.getgroup("timing").addoption("--progress", action="store_true", help=told)


def pytest_configure(config: pytest.Config) -> None:
    sys.addaudithook(_note_process)
    if config.option.progress and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(config), "progress")


def pytest_sessionstart(session: pytest.Session) -> None:
    if xml_key in session.config.stash:  # only the process that writes the report has it
        session.config.pluginmanager.register(JvmCount(), "jvm-count")


def _note_process(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen":
        program, command = arguments[:2]
        first = command[0] if isinstance(command, Sequence) and not isinstance(command, str) and command else program
        _started[Path(os.fsdecode(first or "")).name] += 1


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
    began = time.monotonic()
    try:
        return (yield)
    finally:
        _fixtures[fixturedef.argname] += time.monotonic() - began  # type: ignore[assignment]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[CPU_BEGAN] = _cpu_seconds()
    _started.clear()
    _fixtures.clear()
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Add the costs when all of the test is over: reports carry a test's properties."""
    if call.when != "teardown":
        return
    properties: list[tuple[str, object]] = [(times.CPU, f"{_cpu_seconds() - item.stash[CPU_BEGAN]:.3f}")]
    properties += [
        (f"{times.FIXTURE}{name}", f"{seconds:.3f}")
        for name, seconds in _fixtures.items()
        if seconds > LEAST_FIXTURE_SECONDS
    ]
    properties += [(f"{times.STARTED}{name}", str(count)) for name, count in _started.items()]
    item.user_properties.extend(properties)


def _cpu_seconds() -> float:
    """Return the CPU time of this process, and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


class JvmCount:
    """Counts the run's JVMs: drivers start them, and so no test process sees it."""

    def __init__(self) -> None:
        self._seen: set[psutil.Process] = set()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="jvm-count", daemon=True)
        self._thread.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Add the count before the report is written."""
        self._is_over.set()
        self._thread.join()
        session.config.stash[xml_key].add_global_property(f"{times.STARTED}JVM", str(len(self._seen)))

    def _work(self) -> None:
        folder = str(run.current().folder)
        foreign: set[psutil.Process] = set()
        while not self._is_over.wait(JVM_COUNT_SECONDS):
            for process in psutil.process_iter(["name"]):
                if process.info["name"] == "java" and process not in self._seen | foreign:
                    with contextlib.suppress(psutil.Error):
                        of_this_run = process.environ().get(run.VARIABLE) == folder
                        (self._seen if of_this_run else foreign).add(process)


class Progress:
    """Lines such as "412 of 2,310 tests, 1:20 so far, about 5:10 left", by what the last kept run took."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._kept = times.kept_folders()
        self._expected: dict[str, float] = {}
        self._began = self._spoke_at = time.monotonic()
        self._tests = 0

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._expect(ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._expect([item.nodeid for item in session.items])

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Print no letters: what fails is named at once."""
        if report.when != "call" or hasattr(report, "wasxfail") or report.skipped:
            return None
        outcome = "subtests passed" if report.passed and isinstance(report, pytest.SubtestReport) else report.outcome
        return outcome, "", "FAILED" if report.failed else ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not isinstance(report, pytest.SubtestReport):
            self._say(f"FAILED {_plain(report.nodeid)}")
        if report.when != "teardown":
            return
        self._expected.pop(_plain(report.nodeid), None)
        now = time.monotonic()
        if now - self._spoke_at >= PROGRESS_SECONDS:
            self._spoke_at = now
            self._say(self._progress(now - self._began))

    def _expect(self, ids: Sequence[str]) -> None:
        """Expect of each test the mean of its folder."""
        if not self._expected:
            self._expected = {_plain(nodeid): self._seconds(nodeid) for nodeid in ids}
            self._tests, self._whole = len(ids), sum(self._expected.values())
            self._began = self._spoke_at = time.monotonic()

    def _seconds(self, nodeid: str) -> float:
        file = nodeid.partition("::")[0].removesuffix(".py").replace("/", ".")
        share = self._kept.get(times.folder_of(file))
        return share["seconds"] / share["tests"] if share else UNKNOWN_TEST_SECONDS

    def _progress(self, seconds: float) -> str:
        left = sum(self._expected.values())
        done = self._tests - len(self._expected)
        ahead = seconds * left / max(self._whole - left, 1e-9)
        return f"{done:,} of {self._tests:,} tests, {_clock(seconds)} so far, about {_clock(ahead)} left"

    def _say(self, line: str) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.ensure_newline()
            terminal.write_line(line)


def _plain(nodeid: str) -> str:
    """Return a test's id without the group that xdist adds to it."""
    return re.sub(r"@[^\]@]*$", "", nodeid)


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
