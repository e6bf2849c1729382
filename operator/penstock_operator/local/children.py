"""Programs that a local home runs: each in a session of its own, with what it says in a log, none left behind.

Knows how they are started, told to end, and started again when they end by themselves; a guardian ends them if we are
killed. Does not know which programs they are.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from penstock_operator.local import guardian

MOST_LOG_BYTES = 16 << 20
"""A log that is longer when its program starts is put aside, in place of the one that was put aside before."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 30.0
"""Between two starts of a program that does not live; each pause is twice the one before."""
LIVED_SECONDS = 30.0
"""What has lived this long has started well."""
GUARDIAN_SECONDS = 10.0

Hear = Callable[[str], None]


class Guard:
    """The guardian, and what it is told. Use it by `with`."""

    def __init__(self, lock: int, hurry: Path) -> None:
        """`hurry` is a file: if it is there once we are gone, what is guarded ends at once."""
        self._lock, self._hurry = lock, hurry
        self._living: dict[int, int] = {}
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def note(self, pid: int, rank: int) -> None:
        """Have a process group ended when we are gone."""
        self._living[pid] = rank
        self._tell(f"+{pid} {rank}")

    def forget(self, pid: int) -> None:
        self._living.pop(pid, None)
        self._tell(f"-{pid}")

    def _start(self) -> None:
        command = [sys.executable, "-m", guardian.__name__, str(self._hurry)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, text=True, start_new_session=True, pass_fds=(self._lock,)
        )
        for pid, rank in self._living.items():
            self._say(f"+{pid} {rank}")

    def _close(self) -> None:
        """Let the guardian know that it is over, and wait for its end."""
        if self._process is None:
            return
        with suppress(BrokenPipeError):  # what it was not told is lost with it
            _pipe(self._process).close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GUARDIAN_SECONDS)

    def _tell(self, line: str) -> None:
        try:
            self._say(line)
        except BrokenPipeError:  # somebody killed it: another takes its place, and is told everything
            self._close()
            self._start()

    def _say(self, line: str) -> None:
        if self._process is not None:
            pipe = _pipe(self._process)
            pipe.write(line + "\n")
            pipe.flush()


def _pipe(process: subprocess.Popen[str]) -> IO[str]:
    if process.stdin is None:
        raise RuntimeError("The guardian was started without a pipe.")
    return process.stdin


@dataclass(slots=True)
class Child:
    """One program, which may be started any number of times."""

    command: Sequence[str]
    log: Path
    guard: Guard
    rank: int
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it has besides ours."""
    process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """Its process, while it lives."""
        return self.process.pid if self.process and self.process.returncode is None else None

    async def start(self) -> None:
        _put_aside(self.log)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as said:
            self.process = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env={**os.environ, **self.environment},
                start_new_session=True,  # Ctrl-C in a terminal is for us: we end them in their order
            )
        self.guard.note(self.process.pid, self.rank)

    async def wait(self) -> int:
        """Return its exit code once it has ended: below zero, the signal that ended it."""
        if self.process is None:
            raise RuntimeError("It was not started.")
        code = await self.process.wait()
        self.guard.forget(self.process.pid)
        return code

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self.pid is not None:
            guardian.told(self.pid, number)


class Kept:
    """A child that is started again whenever it ends, until it is told to end, or ends with a code that is final."""

    def __init__(self, name: str, child: Child, hear: Hear, final: frozenset[int] = frozenset()) -> None:
        self.child = child
        self._name = name
        self._hear = hear
        self._final = final
        self._told_to_end = asyncio.Event()
        self._is_over = asyncio.Event()
        self._is_over.set()

    async def run(self, begins: Callable[[], None] = lambda: None) -> int:
        """Return the last exit code, or 0 if it was never started. `begins` is called at each start."""
        self._is_over.clear()
        try:
            return await self._run(begins)
        finally:
            self._is_over.set()

    async def end(self, seconds: float) -> None:
        """End it within that time: by itself if it can, else by force."""
        self._told_to_end.set()
        self.child.terminate()
        try:
            await asyncio.wait_for(self._is_over.wait(), seconds)
        except TimeoutError:
            self.child.kill()
            await self._is_over.wait()

    def kill(self) -> None:
        self._told_to_end.set()
        self.child.kill()

    async def _run(self, begins: Callable[[], None]) -> int:
        pause, code = 0.0, 0
        while not self._told_to_end.is_set():
            began = asyncio.get_running_loop().time()
            await self.child.start()
            begins()
            code = await self.child.wait()
            if self._told_to_end.is_set() or code in self._final:
                break
            lived = asyncio.get_running_loop().time() - began >= LIVED_SECONDS
            pause = FIRST_PAUSE_SECONDS if lived or not pause else min(2 * pause, LONGEST_PAUSE_SECONDS)
            self._hear(f"{self._name} {ending(code)}, and is started again.")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._told_to_end.wait(), pause)
        return code


def ending(code: int) -> str:
    """Say how a program ended."""
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _put_aside(log: Path) -> None:
    with suppress(FileNotFoundError):
        if log.stat().st_size > MOST_LOG_BYTES:
            log.replace(log.with_suffix(log.suffix + ".1"))
