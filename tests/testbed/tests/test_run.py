"""What a run leaves behind, which is nothing, and what it says when something goes wrong.

Each test runs a pytest session of its own, with the testbed's plugin, as a process that can be interrupted and killed.
"""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from tests.testbed import run
from tests.testbed.tests.commands import PATIENCE_SECONDS, Command
from tests.testbed.waiting import eventually

pytestmark = pytest.mark.full

PREAMBLE = """
import pathlib
import threading

import pytest

from tests.testbed import run

NOTES = pathlib.Path(__file__).parent / "notes"

def note(server):
    (NOTES / str(server.pid)).write_text(str(run.current().folder))
"""
WAITING = """
@pytest.mark.parametrize("number", [1, 2])
def test_waits(nats_server, number):
    if number == 1:
        nats_server.freeze()
    note(nats_server)
    threading.Event().wait(100)
"""
SUCCEEDING = """
@pytest.mark.parametrize("number", [1, 2])
def test_succeeds(nats_server, number):
    note(nats_server)
"""
FAILING = """
@pytest.mark.parametrize("number", [1, 2])
def test_fails(nats_server, number):
    nats_server.freeze()
    note(nats_server)
    assert not number
"""
SHARING = """
def starting(name):
    with (NOTES / "starts").open("a") as starts:
        starts.write(f"{name}\\n")

def start_whole():
    starting("whole")
    return {"port": 1}

def start_broken():
    starting("broken")
    raise OSError("no room today")

def test_whole():
    assert run.current().shared("whole", start_whole) == {"port": 1}

def test_broken():
    run.current().shared("broken", start_broken)
"""

ALONE: list[str] = []
PARALLEL = ["-n", "2"]
ON_BOTH = ["--tx", "2*popen", "--dist", "each"]
both_ways = pytest.mark.parametrize("options", [ALONE, PARALLEL], ids=["alone", "parallel"])

# A shell has its background jobs ignore Ctrl-C, and they hand that on: this session hears it anyway.
PYTEST = """
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main(sys.argv[1:]))
"""


class Session(Command):
    """A pytest session that notes the servers that it starts, and the folder of its run."""

    def __init__(self, folder: Path, body: str, options: list[str], environment: Mapping[str, str]) -> None:
        self.notes = folder / "notes"
        self.notes.mkdir()
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "test_inner.py").write_text(PREAMBLE + body)
        plugin = ["-p", "tests.testbed.plugin", "-c", str(folder / "pytest.ini")]
        outer = (run.VARIABLE, "CI", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_TESTRUNUID")
        inherited = {name: value for name, value in os.environ.items() if name not in outer}
        command = [sys.executable, "-c", PYTEST, *plugin, *options, str(folder)]
        super().__init__(folder, *command, environment={**inherited, **environment})

    def wait_for_servers(self, count: int) -> None:
        def noted_or_ended() -> bool:
            return len(self.servers()) == count or self.process.poll() is not None

        eventually(noted_or_ended, f"{count} servers started", PATIENCE_SECONDS)
        assert self.process.poll() is None, self.output

    def servers(self) -> list[int]:
        return [int(entry.name) for entry in self.notes.iterdir() if entry.read_text()]

    def folders(self) -> list[Path]:
        return [Path(entry.read_text()) for entry in self.notes.iterdir()]

    def has_left_nothing(self) -> bool:
        return not any(map(psutil.pid_exists, self.servers())) and not any(folder.exists() for folder in self.folders())


StartSession = Callable[..., Session]


@pytest.fixture
def start_session(tmp_path: Path) -> Iterator[StartSession]:
    sessions: list[Session] = []

    def start(body: str, options: list[str] = ALONE, **environment: str) -> Session:
        folder = tmp_path / str(len(sessions))
        folder.mkdir()
        sessions.append(Session(folder, body, options, environment))
        return sessions[-1]

    yield start
    for session in sessions:
        session.end(signal.SIGKILL)


@both_ways
def test_after_success_and_failure_nothing_is_left_and_only_a_failure_shows_logs(
    start_session: StartSession, options: list[str]
) -> None:
    session = start_session(SUCCEEDING, options)
    assert session.end() == pytest.ExitCode.OK, session.output
    assert "log of nats" not in session.output
    assert len(session.servers()) == 2
    assert session.has_left_nothing()

    session = start_session(FAILING, options)
    assert session.end() == pytest.ExitCode.TESTS_FAILED, session.output
    assert session.output.count("- log of nats") == 2
    assert session.output.count("[INF] Server is ready") == 2
    assert len(session.servers()) == 2
    assert session.has_left_nothing()


@both_ways
def test_after_an_interrupt_and_kill_9_nothing_is_left(start_session: StartSession, options: list[str]) -> None:
    servers = 2 if options else 1
    session = start_session(WAITING, options)
    session.wait_for_servers(servers)
    os.killpg(session.process.pid, signal.SIGINT)
    assert session.end() == pytest.ExitCode.INTERRUPTED, session.output
    assert session.has_left_nothing()

    session = start_session(WAITING, options)
    session.wait_for_servers(servers)
    session.end(signal.SIGKILL)
    eventually(session.has_left_nothing, "the servers and the run's folder gone")


def test_a_skip_is_a_failure_under_ci_and_a_skip_elsewhere(start_session: StartSession) -> None:
    skipping = "def test_skips():\n    pytest.skip('no such thing here')\n"
    session = start_session(skipping, CI="true")
    assert session.end() == pytest.ExitCode.TESTS_FAILED
    assert "Skipped, which is a failure under CI=true: no such thing here" in session.output
    session = start_session(skipping)
    assert session.end() == pytest.ExitCode.OK
    assert "1 skipped" in session.output


def test_what_parallel_processes_share_is_started_once_and_all_see_its_failure(
    start_session: StartSession,
) -> None:
    session = start_session(SHARING, ON_BOTH)
    assert session.end() == pytest.ExitCode.TESTS_FAILED
    assert "2 failed, 2 passed" in session.output
    told = re.findall(r"^E +RuntimeError: broken did not start: OSError: no room today$", session.output, re.MULTILINE)
    assert len(told) == 2
    assert sorted((session.notes / "starts").read_text().split()) == ["broken", "whole"]
