"""One worker on this machine: an engine and a driver, side by side, from their start to a clean end.

Knows what follows when one of the two ends: it is started again beside the other, which goes on; unless the engine says
that this is of no use. Does not know how many workers there are to be (group.py).
"""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from penstock_operator.local.children import Child, Guard, Hear, Kept
from penstock_operator.local.guardian import WORKER
from penstock_operator.local.state import DRIVER_LOG, ENGINE_LOG, SETTINGS, make_private, write_whole

ENGINE = (sys.executable, "-m", "penstock_worker.engine", "--settings")
DRIVER = (sys.executable, "-m", "penstock_worker.driver.main", "--settings")
DONE, UNFIT, CODE_STOPPED = 0, 2, 3
"""Exit codes of the engine after which another start is of no use; the last two need somebody who changes something."""
SPARE_SECONDS = 10.0
"""After its grace, for what a process does last."""
JVM_SECONDS = 45.0
"""For a driver that has nothing to do any more: its JVM may leave an archive of its classes for the next start."""
TAIL_BYTES = 64 << 10


class Stage(Enum):
    STARTING = "starting"
    WORKING = "working"
    ENDING = "ending"
    ENDED = "ended"


@dataclass(slots=True, kw_only=True)
class Worker:
    """One worker. `run` it once; `end` it from beside."""

    name: str
    folder: Path
    settings: Mapping[str, Any]
    environment: Mapping[str, str]
    guard: Guard
    hear: Hear
    begins: Callable[[str], None]
    """Called with the name whenever an engine starts, which counts from nothing."""
    stage: Stage = Stage.STARTING
    failure: str = ""
    """Why it cannot work until somebody changes something."""
    status: Mapping[str, Any] | None = None
    """What the engine said last."""
    account: Mapping[str, Any] | None = None
    """What its last engine had done when it ended, which may be more than it could be asked for."""
    engine: Kept = field(init=False)
    driver: Kept = field(init=False)
    _has_answered: bool = False
    _told_to_end: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        file = str(self.folder / SETTINGS)
        engine = Child((*ENGINE, file), self.folder / ENGINE_LOG, self.guard, WORKER)
        for_driver = {**self.environment, "PYTHONUNBUFFERED": "1"}
        driver = Child((*DRIVER, file), self.folder / DRIVER_LOG, self.guard, WORKER, for_driver)
        self.engine = Kept(f"The engine of {self.name}", engine, self.hear, frozenset({DONE, UNFIT, CODE_STOPPED}))
        self.driver = Kept(f"The driver of {self.name}", driver, self.hear, frozenset({UNFIT}))

    @property
    def is_ending(self) -> bool:
        return self.stage in (Stage.ENDING, Stage.ENDED)

    @property
    def has_ended(self) -> bool:
        return self.stage is Stage.ENDED

    @property
    def is_pulling(self) -> bool:
        """Whether there is an engine to ask."""
        return self.engine.child.pid is not None

    @property
    def is_silent(self) -> bool:
        """Whether it has answered before, and does not now: what it holds is not known."""
        return self._has_answered and self.status is None and self.is_pulling

    def hear_status(self, status: Mapping[str, Any] | None) -> None:
        self.status = status
        self._has_answered = self._has_answered or status is not None

    @property
    def is_ready(self) -> bool:
        return not self.is_ending and self.status is not None and bool(self.status.get("ready"))

    @property
    def is_idle(self) -> bool:
        return not self.is_silent and not (self.status or {}).get("batches")

    async def run(self, ground: asyncio.Event) -> None:
        """Work until told to end, or until that is of no use. There is an engine once there is something to pull."""
        self._write_settings()
        async with asyncio.TaskGroup() as tasks:
            driving = tasks.create_task(self._drive())
            await first_of(driving, ground.wait(), self._told_to_end.wait())
            if not self._told_to_end.is_set() and not driving.done():
                self.stage = Stage.WORKING
                pulling = tasks.create_task(self._pull())
                await first_of(driving, pulling, self._told_to_end.wait())
                await self.engine.end(self.settings["engine"]["grace_seconds"] + SPARE_SECONDS)
            self.stage = Stage.ENDING
            await self.driver.end(JVM_SECONDS)
        self.stage = Stage.ENDED

    def end(self) -> None:
        """Have it finish what it holds, and end."""
        if not self.is_ending:
            self.stage = Stage.ENDING
            self._told_to_end.set()

    def kill(self) -> None:
        """End it this instant: what it holds is delivered again."""
        self.end()
        self.engine.kill()
        self.driver.kill()

    async def _drive(self) -> None:
        code = await self.driver.run()
        if code == UNFIT and not self.is_ending:
            self.failure = last_error(self.folder / DRIVER_LOG) or "The driver cannot use its settings."

    async def _pull(self) -> None:
        code = await self.engine.run(lambda: self.begins(self.name))
        if code in (DONE, CODE_STOPPED) and self.engine.child.process is not None:  # else it left none, or an older did
            self.account = last_told(self.folder / ENGINE_LOG, lambda told: "account" in told).get("account")
        if code in (UNFIT, CODE_STOPPED) and not self.is_ending:
            self.failure = last_error(self.folder / ENGINE_LOG) or f"The engine ended with exit code {code}."

    def _write_settings(self) -> None:
        write_whole(self.folder / SETTINGS, json.dumps(self.settings, indent=2).encode())
        sockets = Path(self.settings["socket"]).parent
        if sockets != self.folder:  # in the folder for temporary files, which all users share
            make_private(sockets)


async def first_of(*waited: asyncio.Task[Any] | Coroutine[Any, Any, Any]) -> None:
    """Return once one of these is done. Those that are no tasks yet are not waited for any longer then."""
    ours = [asyncio.ensure_future(each) for each in waited if not isinstance(each, asyncio.Task)]
    try:
        await asyncio.wait(
            [*ours, *(each for each in waited if isinstance(each, asyncio.Task))], return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        for each in ours:
            each.cancel()


def removal_order(workers: Sequence[Worker]) -> list[Worker]:
    """Return workers, given in the order of their start, in the order to end them: idle ones first, youngest first."""
    youngest_first = workers[::-1]
    return sorted(youngest_first, key=lambda worker: not worker.is_idle)


def last_error(log: Path) -> str:
    """Return what a worker's log says last of what went wrong; nothing if it says nothing of it."""
    return str(last_told(log, lambda told: told.get("level") == "error").get("message", ""))


def last_told(log: Path, is_meant: Callable[[Mapping[str, Any]], bool]) -> Mapping[str, Any]:
    """Return the last line of a log, as JSON, that is meant; an empty one if there is none near its end."""
    with suppress(FileNotFoundError), log.open("rb") as lines:
        lines.seek(max(0, log.stat().st_size - TAIL_BYTES))
        for line in reversed(lines.read().splitlines()):
            with suppress(ValueError):
                told = json.loads(line)
                if isinstance(told, dict) and is_meant(told):
                    return told
    return {}
