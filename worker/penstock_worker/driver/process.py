"""The driver's process once its settings are read: all parts of it, and its end.

Knows which part needs which, and what starts and ends in which order. On SIGTERM no further batch is begun, and those
at work have as long as the engine has; a second SIGTERM ends all at once. Does not read settings (main.py).
"""

import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import FrameType

from penstock_worker.driver.entrypoint import Code, load
from penstock_worker.driver.keeper import Keeper
from penstock_worker.driver.liveness import liveness
from penstock_worker.driver.overseer import Overseer
from penstock_worker.driver.runs import Runs
from penstock_worker.driver.service import DriverService
from penstock_worker.driver.shipping import ship
from penstock_worker.driver.slots import Slots
from penstock_worker.exchange.server import DriverServer
from penstock_worker.policy.outcome import Verdict
from penstock_worker.policy.settings import DriverSettings, WorkerSettings
from penstock_worker.probes import Judgement, Pages, serving_beside
from penstock_worker.spark.contract import Spark
from penstock_worker.spark.master import shown
from penstock_worker.spark.versions import silence_errors

log = logging.getLogger(__name__)

ENDED, GAVE_UP = 0, 1
ANSWER_SECONDS = 5.0
"""What the last answers get to reach the engine."""
FOLLOW_SECONDS = 3.0
"""After the engine's own grace: it settles what we told it, and then has us forget it."""


class Driver:
    """All parts of the process, and its end."""

    def __init__(self, settings: WorkerSettings, make: Callable[[], Spark], told_to_end: threading.Event) -> None:
        """`make` returns a Spark that is not started; `told_to_end` may be set by a signal before we serve."""
        self._grace_seconds = settings.engine.grace_seconds + FOLLOW_SECONDS
        self._told_to_end = told_to_end
        silence_errors()
        driver = settings.driver
        self._probes, self._hang_seconds = driver.probes, driver.hang_seconds
        self._runs = Runs()
        self._overseer = Overseer(self._runs, driver.hang_seconds, self._give_up)
        self._keeper = Keeper(make, partial(_load, driver), self._overseer, self._give_up)
        self._slots = Slots(driver.in_flight, self._runs, self._keeper)
        self._service = DriverService(driver.entrypoint, shown(driver.master), self._runs, self._keeper, self._end_anew)
        self._server = DriverServer(Path(settings.socket), self._service)

    def serve(self) -> int:
        """Serve until a signal says to end."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        pages: Pages = {"/healthz": self._judged}
        with serving_beside(self._probes, pages) if self._probes else nullcontext():
            for part in (self._slots, self._overseer, self._keeper):
                part.start()
            return self._work_and_end()

    def _judged(self) -> Judgement:
        """Say whether this process is still of use; threads end in order when all does."""
        parts = {"batches": self._slots.are_alive, "the clock": self._overseer.is_alive, "Spark": self._keeper.is_alive}
        dead = [] if self._told_to_end.is_set() else [name for name, is_alive in parts.items() if not is_alive]
        return liveness(self._runs.at_work(), dead, self._hang_seconds, time.monotonic())

    def _work_and_end(self) -> int:
        self._wait_for_a_signal()
        self._service.refuse("The driver ends.", is_ending=True)
        self._runs.wait_told(self._grace_seconds)
        if self._runs.at_work():
            self._give_up(f"Batches are still at work {self._grace_seconds:g} s after the driver was told to end.")
        self._overseer.close()
        self._runs.close()
        self._stop_answering()
        self._keeper.close()
        return ENDED

    def _wait_for_a_signal(self) -> None:
        """Wait without a lock: a signal that came to another thread wakes nobody who waits for one.

        Python has its handlers run in the main thread, which has to be awake for it; writing to this pipe wakes it.
        """
        read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write)
        while not self._told_to_end.is_set():
            os.read(read, select.PIPE_BUF)

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        if self._told_to_end.is_set():
            self._keeper.kill()
            os._exit(GAVE_UP)
        self._told_to_end.set()

    def _end_anew(self) -> None:
        """End beside the call that asks for it, which is answered first."""
        why = "The engine has given up a run that did not end."
        threading.Thread(target=self._give_up, args=(why,), name="give-up", daemon=True).start()

    def _give_up(self, why: str) -> None:
        """End this process though threads of it hang: nothing else ends them."""
        log.error("The driver gives up: %s", why)
        self._service.refuse("The driver starts anew.")
        for run in self._runs.unfinished():
            self._runs.end_as(run, Verdict.ENGINE_LOST)
        self._stop_answering()
        self._keeper.kill()
        sys.stderr.flush()
        os._exit(GAVE_UP)

    def _stop_answering(self) -> None:
        """Let the calls end that are answered; one that hangs does not hold us."""
        ending = threading.Thread(target=self._server.shutdown, name="shutdown", daemon=True)
        ending.start()
        ending.join(ANSWER_SECONDS)


def _load(settings: DriverSettings, spark: Spark) -> Code:
    """Import the user's code, and see to it that Spark's Python workers have it as well."""
    code = load(settings.entrypoint, settings.python_path)
    if not spark.sees_our_modules:
        ship(code.modules)
    return code
