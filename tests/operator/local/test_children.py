"""Processes of the local backend: restarted, ended in time, and never left behind when their owner is killed."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from penstock_operator.local import guardian
from penstock_operator.local.children import Child, Guard, Kept
from penstock_operator.local.guardian import WORKER
from penstock_operator.local.state import StateFolder
from tests.testbed.waiting import eventually, eventually_async

PATIENCE_SECONDS = 60
SLEEP = ("sleep", "3600")
OWNER = """
import os, subprocess, sys, time
from pathlib import Path
from penstock_operator.local.children import Guard
from penstock_operator.local.guardian import SERVER, WORKER
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
guard = Guard(lock, Path(sys.argv[1] + ".hurry")).__enter__()
def start(rank):
    process = subprocess.Popen(["sleep", "3600"], start_new_session=True)
    guard.note(process.pid, rank)
    return process.pid
first = start(WORKER)
print(guard._process.pid, first, flush=True)
sys.stdin.readline()
print(start(SERVER), guard._process.pid, flush=True)
sys.stdin.readline()
"""


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.full
@pytest.mark.interpreter
def test_killed_supervisor_is_replaced_and_ends_all_noted_processes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdin is not None
        assert owner.stdout is not None
        supervisor, first = map(int, owner.stdout.readline().split())
        psutil.Process(supervisor).kill()
        eventually(lambda: gone(supervisor), "the supervisor has ended", PATIENCE_SECONDS)
        owner.stdin.write("\n")
        owner.stdin.flush()
        second, other = map(int, owner.stdout.readline().split())
        assert other != supervisor
        assert not gone(first)
        owner.kill()
    eventually(lambda: gone(first) and gone(second) and gone(other), "all have ended", PATIENCE_SECONDS)


STUBBORN_OWNER = """
import os, subprocess, sys
from pathlib import Path
from penstock_operator.local.children import Guard
from penstock_operator.local.guardian import WORKER
from penstock_operator.local.state import HomeRecord, StateFolder
state = StateFolder(Path(sys.argv[1]))
ignores = "import signal; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); signal.pause()"
with state.taken() as lock, Guard(lock, state.hurry) as guard:
    state.write(HomeRecord(pid=os.getpid(), started="2026-01-31T00:00:00Z", files=()))
    worker = subprocess.Popen([sys.executable, "-c", ignores], stdout=subprocess.PIPE, start_new_session=True)
    worker.stdout.readline()
    guard.note(worker.pid, WORKER)
    print(worker.pid, flush=True)
    sys.stdin.readline()
"""


@pytest.mark.full
def test_next_owner_of_a_killed_one_does_not_wait_for_batches_at_work(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STUBBORN_OWNER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        worker = int(owner.stdout.readline())
        owner.kill()
    said: list[str] = []
    began = time.monotonic()  # calm: compared with a patience that is not to be used up
    with StateFolder(tmp_path).taken(said.append):
        assert time.monotonic() - began < guardian.PATIENCE_SECONDS
        assert gone(worker)
        assert not (tmp_path / "hurry").exists()
    assert said == ["The last `penstock up` was killed. Waiting for its workers and NATS servers to end."]


Make = Callable[..., tuple[Kept, list[str]]]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with Guard(os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT), tmp_path / "hurry") as guard:

        def make(*command: str, final: frozenset[int] = frozenset()) -> tuple[Kept, list[str]]:
            heard: list[str] = []
            return Kept("It", Child(command, tmp_path / "log", guard, WORKER), heard.append, final), heard

        yield make


@pytest.mark.interpreter
async def test_process_is_restarted_until_it_is_ended(make: Make) -> None:
    kept, heard = make(*SLEEP)
    starts = asyncio.Queue[None](10)
    running = asyncio.create_task(kept.run(lambda: starts.put_nowait(None)))
    await starts.get()
    kept.child.kill()
    await starts.get()
    await kept.end(PATIENCE_SECONDS)
    assert await running == -15
    assert heard == ["It was killed by signal 9, and is started again."]


async def test_final_exit_code_is_not_restarted(make: Make) -> None:
    kept, heard = make(sys.executable, "-c", "print('said'); raise SystemExit(3)", final=frozenset({3}))
    assert await kept.run() == 3
    assert heard == []
    assert kept.child.log.read_text() == "said\n"


async def test_process_that_ignores_sigterm_is_killed(make: Make) -> None:
    stubborn = "import signal; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); signal.pause()"
    kept, _ = make(sys.executable, "-c", stubborn)
    running = asyncio.create_task(kept.run())
    log = kept.child.log
    await eventually_async(lambda: log.exists() and "ready" in log.read_text(), "it is ready")
    await kept.end(0.1)
    assert await running == -9
