"""Ends all that a testbed run started once the run's owner is gone; started by run.py as a process of its own.

usage: python -m tests.testbed.reaper FOLDER < PIPE     (it begins when the pipe closes)

Kills process groups by the pids noted there and nothing else.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from tests.testbed.waiting import eventually

PATIENCE_SECONDS = 5  # what a server gets to end by itself before it is killed


def main(folder: Path) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # ending the run by process group must not end this
    sys.stdin.buffer.read()
    reap(folder / "processes")
    for cleanup in sorted((folder / "cleanups").iterdir()):
        subprocess.run(json.loads(cleanup.read_text()), check=False)
    if "PENSTOCK_TESTBED_KEEP" not in os.environ:
        shutil.rmtree(folder, ignore_errors=True)


def reap(processes: Path) -> None:
    """Terminate, then kill, each process noted in the folder, with its whole group."""
    listed = [found for note in processes.iterdir() if (found := recall(note))]
    for process in listed:
        signal_group(process.pid, signal.SIGCONT)
        signal_group(process.pid, signal.SIGTERM)
    wait_ended(listed)
    for process in listed:
        signal_group(process.pid, signal.SIGKILL)  # the leader may be gone and its children not
    wait_ended(listed)


def wait_ended(processes: list[psutil.Process]) -> None:
    """Wait until all have ended or patience has; a zombie has ended, though its parent is not yet told."""
    with contextlib.suppress(TimeoutError):
        eventually(lambda: not any(map(is_alive, processes)), "all processes ended", PATIENCE_SECONDS)


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def note(processes: Path, pid: int) -> Path:
    """Note a process that leads its own group, so that it will be ended with the run."""
    entry = processes / str(pid)
    entry.write_text(repr(psutil.Process(pid).create_time()))
    return entry


def recall(entry: Path) -> psutil.Process | None:
    """Return the process of a note, unless it has ended and another has its pid."""
    try:
        began = entry.read_text()
        process = psutil.Process(int(entry.name))
    except (FileNotFoundError, psutil.NoSuchProcess):
        return None
    return process if repr(process.create_time()) == began else None


def signal_group(leader: int, number: signal.Signals) -> None:
    """Signal a process and its group; that it is gone already is fine."""
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
