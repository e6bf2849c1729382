"""The program `penstock-driver`: reads its settings, serves the engine, and ends when it is told to.

usage: penstock-driver --settings FILE      (0 ended as told, 1 had to give up, 2 the settings are wrong)

Knows what starts and ends in which order. On SIGTERM no further batch is begun, and those at work have as long as the
engine has; a second SIGTERM ends all at once.
"""

import argparse
import logging
import os
import select
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from types import FrameType

from penstock_worker import logs
from penstock_worker.driver.entrypoint import Code, load
from penstock_worker.driver.ground import FolderInUseError, offer_modules, take_folder
from penstock_worker.driver.keeper import Keeper
from penstock_worker.driver.overseer import Overseer
from penstock_worker.driver.runs import Runs
from penstock_worker.driver.service import DriverService
from penstock_worker.driver.shipping import ship
from penstock_worker.driver.slots import Slots
from penstock_worker.exchange.server import DriverServer
from penstock_worker.policy.outcome import Verdict
from penstock_worker.policy.settings import DriverSettings, WorkerSettings
from penstock_worker.policy.telling import read_settings
from penstock_worker.policy.typed import MalformedError
from penstock_worker.spark import spark_for
from penstock_worker.spark.contract import Spark
from penstock_worker.spark.master import shown

log = logging.getLogger(__name__)

ENDED, GAVE_UP, WRONG_SETTINGS = 0, 1, 2
ANSWER_SECONDS = 5.0
"""What the last answers get to reach the engine."""
FOLLOW_SECONDS = 3.0
"""After the engine's own grace: it settles what we told it, and then has us forget it."""


def main() -> int:
    """Run the driver, and return its exit code."""
    arguments = argparse.ArgumentParser(prog="penstock-driver", description="Runs Spark for Penstock's engine.")
    arguments.add_argument(
        "--settings", type=Path, required=True, metavar="FILE", help="what the worker is told, as JSON"
    )
    file = arguments.parse_args().settings
    logs.configure()
    try:
        settings = read_settings(file.read_bytes())
        take_folder(Path(settings.driver.work_folder))
        token = _secret(settings.driver)
    except (OSError, MalformedError, FolderInUseError) as problem:
        log.error("%s: %s", file, problem)  # noqa: TRY400 - the sentence says it all
        return WRONG_SETTINGS
    return Driver(settings, token).serve()


def _secret(settings: DriverSettings) -> str | None:
    return Path(settings.token_file).read_text().strip() if settings.token_file else None


class Driver:
    """All parts of the process, and its end."""

    def __init__(self, settings: WorkerSettings, token: str | None) -> None:
        self._grace_seconds = settings.engine.grace_seconds + FOLLOW_SECONDS
        self._told_to_end = threading.Event()
        driver = settings.driver
        offer_modules(driver.python_path)
        self._runs = Runs()
        self._overseer = Overseer(self._runs, driver.hang_seconds, self._give_up)
        archives = Path(driver.java_archives) if driver.java_archives else None
        folder = Path(driver.work_folder).resolve()
        make = partial(
            spark_for, driver.master, folder, driver.conf, at_once=driver.in_flight, token=token, archives=archives
        )
        self._keeper = Keeper(make, partial(_load, driver), self._overseer, self._give_up)
        self._slots = Slots(driver.in_flight, self._runs, self._keeper)
        self._service = DriverService(driver.entrypoint, shown(driver.master), self._runs, self._keeper, self._end_anew)
        self._server = DriverServer(Path(settings.socket), self._service)

    def serve(self) -> int:
        """Serve until a signal says to end."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        for part in (self._slots, self._overseer, self._keeper):
            part.start()
        self._wait_for_a_signal()
        self._service.refuse("The driver ends.")
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


if __name__ == "__main__":
    sys.exit(main())
