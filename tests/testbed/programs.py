"""A server as a process of its own group: started, watched, broken and ended; its log kept in a file."""

import atexit
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.testbed import reaper, run
from tests.testbed.waiting import eventually

STOP_SECONDS = 60
LOG_LINES_SHOWN = 40

logs: dict[str, Path] = {}
"""The log of each server that this process has started or attached to, by a name for people."""

_started: list[subprocess.Popen[bytes]] = []
"""Held so that a server may outlive the object that started it: others share it until the run ends."""


@atexit.register
def _disown() -> None:
    """Keep Python from warning of servers that outlive this process: the run's owner ends them."""
    for process in _started:
        if process.poll() is None:
            process.returncode = 0


class DidNotStartError(RuntimeError):
    """A server ended or hung instead of serving; the text ends with its log."""


class Program:
    """A server process that this test process started. It ends with the run at the latest."""

    def __init__(
        self, name: str, command: Sequence[str | Path], folder: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.command = [str(part) for part in command]
        self.folder = folder
        self.env = {**os.environ, **(env or {})}
        self.log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._note: Path | None = None

    def start(self) -> None:
        """Start the process; the log of an earlier life is kept and continued."""
        if self.is_running:
            raise RuntimeError(f"{self.name} is running already, as pid {self.pid}")
        attach(self.name, self.log)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        _started.append(self._process)
        self._note = reaper.note(run.current().folder / "processes", self._process.pid)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError(f"{self.name} was never started")
        return self._process

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def how_it_ended(self) -> str:
        """Say so, for people: "was ended by SIGKILL", "ended with code 1"."""
        code = None if self._process is None else self._process.poll()
        if code is None:
            return "has not ended"
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"

    def wait_ready(self, is_ready: Callable[[], bool], seconds: float) -> None:
        """Wait until it serves; if it ends or hangs instead, fail with the end of its log."""

        def ready_or_dead() -> bool:
            return not self.is_running or is_ready()

        with contextlib.suppress(TimeoutError):
            eventually(ready_or_dead, f"{self.name} ready", seconds)
            if self.is_running:
                return
        ended = "is not ready" if self.is_running else self.how_it_ended()
        raise DidNotStartError(f"{self.name} {ended} after at most {seconds:g} s. Its log ends:\n{self.log_tail()}")

    def stop(self) -> None:
        """End it politely (SIGTERM), as a system shutting down would; kill it if it does not listen."""
        if not self.is_running:
            return
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._forget()

    def kill(self) -> None:
        """End it as a power failure would (SIGKILL), with all of its group."""
        self.send(signal.SIGKILL)
        self.process.wait(STOP_SECONDS)
        self._forget()

    def freeze(self) -> None:
        """Stop it: connections are made and stay open, and nothing answers (SIGSTOP)."""
        _frozen_note(self.pid).touch()
        self.send(signal.SIGSTOP)
        # Threads that run at the moment may still answer, until the kernel says that all of them stand still.
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        _frozen_note(self.pid).unlink(missing_ok=True)
        self.send(signal.SIGCONT)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        self.freeze()
        try:
            yield
        finally:
            self.thaw()

    def send(self, number: signal.Signals) -> None:
        reaper.signal_group(self.pid, number)

    def wait_ended(self, seconds: float) -> int:
        """Wait until it ends by itself, or of a signal that it was sent, and return its exit code."""
        eventually(lambda: not self.is_running, f"{self.name} ends", seconds)
        self._forget()
        return self.process.wait()

    def log_tail(self, lines: int = LOG_LINES_SHOWN) -> str:
        return tail(self.log, lines=lines)

    def _forget(self) -> None:
        if self._note is not None:
            reaper.signal_group(self.pid, signal.SIGKILL)  # children that outlived their leader
            self._note.unlink(missing_ok=True)
            _frozen_note(self.pid).unlink(missing_ok=True)
            self._note = None


def is_frozen(pid: int) -> bool:
    """Tell whether a test has stopped this process."""
    return _frozen_note(pid).exists()


def _frozen_note(pid: int) -> Path:
    return run.current().folder / "frozen" / str(pid)


def attach(name: str, log: str | Path) -> None:
    """Have failing tests show the log of a server that another test process started."""
    logs.setdefault(f"{name} ({log})", Path(log))


def tail(log: Path, *, start: int = 0, lines: int = LOG_LINES_SHOWN) -> str:
    """Return the last lines of a log, of what was written after a position in it."""
    with log.open("rb") as text:
        text.seek(start)
        return "\n".join(text.read().decode(errors="replace").splitlines()[-lines:])
