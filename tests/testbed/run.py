"""One run of the testbed: a test session with all its parallel processes, or one command by hand.

The folder holds: processes/PID (when that process was started, so that a reused pid is never killed), frozen/PID (of
processes that a test has stopped), cleanups/* (commands to run after the processes are dead), shared/* (what parallel
test processes share), and the servers' data.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock

ROOT = Path(__file__).resolve().parent.parent.parent
VARIABLE = "PENSTOCK_TESTBED_RUN"


@dataclass(frozen=True)
class Run:
    folder: Path

    def new_folder(self, name: str) -> Path:
        """Make a folder for a server's files that no other server has."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))

    def add_cleanup(self, name: str, command: list[str]) -> None:
        """Have a command run when the run is over and its processes are dead."""
        (self.folder / "cleanups" / name).write_text(json.dumps(command))

    def shared(self, name: str, start: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Start something once for all parallel test processes; the first starts it, and all get its facts.

        A start that failed is not tried again by the others: they fail at once, with the same words.
        """
        record = self.folder / "shared" / f"{name}.json"
        with filelock.FileLock(record.with_suffix(".lock")):
            if not record.exists():
                record.write_text(json.dumps(_outcome(start)))
            outcome = json.loads(record.read_text())
        if "failure" in outcome:
            raise RuntimeError(f"{name} did not start: {outcome['failure']}")
        facts: dict[str, Any] = outcome["facts"]
        return facts


def _outcome(start: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return {"facts": start()}
    except Exception as problem:  # noqa: BLE001 - kept for the other processes, and raised again in this one
        return {"failure": f"{type(problem).__name__}: {problem}"}


class Owner:
    """The process that a run lives and dies with."""

    def __init__(self) -> None:
        self.run = Run(Path(tempfile.mkdtemp(prefix="penstock-testbed-")))
        for name in ("processes", "frozen", "cleanups", "shared"):
            (self.run.folder / name).mkdir()
        # The pipe is how the reaper learns of our end, even by kill -9; a session of its own keeps Ctrl-C from it.
        self._reaper = subprocess.Popen(
            [sys.executable, "-m", "tests.testbed.reaper", str(self.run.folder)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        os.environ[VARIABLE] = str(self.run.folder)

    def end(self) -> None:
        """End everything that the run started, and wait until it is gone."""
        os.environ.pop(VARIABLE, None)
        if self._reaper.stdin:
            self._reaper.stdin.close()
        self._reaper.wait()


def current() -> Run:
    """Return the run that this process belongs to."""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        raise RuntimeError("No testbed run is open here: use the fixtures, or `python -m tests.testbed`.")
    return Run(Path(folder))
