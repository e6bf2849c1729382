"""Adverse conditions for the tests of a run: random order, and processes that stop for a while. A pytest plugin.

`make test-stress` (tools/stress.py) uses it and adds CPU contention. A process is stopped as a machine that swaps, or a
paused virtual machine, would stop it: connections stay open, and nothing answers for up to 1.5 s.
"""

import itertools
import random
import signal
import threading
from collections.abc import Iterator

import psutil
import pytest

from tests.testbed import programs, reaper, run

PAUSES_BETWEEN_SECONDS = (0.5, 4.0)
PAUSE_SECONDS = (0.1, 1.5)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("stress")
    group.addoption("--random-order", type=int, metavar="SEED", help="run files in random order, and the tests of each")
    group.addoption("--pause-processes", type=int, metavar="SEED", help="stop what tests started for up to 1.5 s")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (seed := config.option.random_order) is not None:
        items[:] = shuffled(items, random.Random(seed))  # noqa: S311


def shuffled(items: list[pytest.Item], chance: random.Random) -> Iterator[pytest.Item]:
    """Return the items in random order, but those of a file together, so that they share its fixtures."""
    files = [list(members) for _, members in itertools.groupby(items, lambda item: item.path)]
    chance.shuffle(files)
    for members in files:
        chance.shuffle(members)
        yield from members


def pytest_sessionstart(session: pytest.Session) -> None:
    seed = session.config.option.pause_processes
    if seed is not None and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Pauses(random.Random(seed)), "pauses")  # noqa: S311


class Pauses:
    """Stops one process after the other, while the session runs."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="pauses", daemon=True)
        self._thread.start()

    def pytest_sessionfinish(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _work(self) -> None:
        folder = run.current().folder
        while not self._is_over.wait(self._chance.uniform(*PAUSES_BETWEEN_SECONDS)):
            notes = sorted((folder / "processes").iterdir())
            process = reaper.recall(self._chance.choice(notes)) if notes else None
            if process is not None:
                self._pause(process)

    def _pause(self, process: psutil.Process) -> None:
        """Stop a process and its group for a while, unless a test has stopped it or stops it in that time."""
        if programs.is_frozen(process.pid):
            return
        reaper.signal_group(process.pid, signal.SIGSTOP)
        self._is_over.wait(self._chance.uniform(*PAUSE_SECONDS))
        if not programs.is_frozen(process.pid):
            reaper.signal_group(process.pid, signal.SIGCONT)
