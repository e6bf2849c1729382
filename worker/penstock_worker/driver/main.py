"""The program `penstock-driver`: reads its settings, serves the engine, and ends when it is told to.

usage: penstock-driver --settings FILE      (0 ended as told, 1 had to give up, 2 the settings are wrong)

Has the JVM start before all else, as most of what the process imports is slow to import. What happens then is in
process.py.
"""

import argparse
import logging
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path

from penstock_worker import logs
from penstock_worker.driver.ground import FolderInUseError, copy_code, offer_modules, take_folder
from penstock_worker.policy.settings import DriverSettings
from penstock_worker.policy.telling import read_settings
from penstock_worker.policy.typed import MalformedError
from penstock_worker.probes import CannotServeError
from penstock_worker.spark import spark_for
from penstock_worker.spark.archive import ARCHIVES
from penstock_worker.spark.launching import launch_early

log = logging.getLogger(__name__)

WRONG_SETTINGS = 2


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
        driver = settings.driver
        take_folder(Path(driver.work_folder))
        if driver.code_source is not None:
            copy_code(Path(driver.code_source), Path(driver.python_path[0]))
        token = _secret(driver)
    except (OSError, MalformedError, FolderInUseError) as problem:
        log.error("%s: %s", file, problem)  # noqa: TRY400 - the sentence says it all
        return WRONG_SETTINGS
    told_to_end = _heed_signals()
    offer_modules(driver.python_path)
    folder = Path(driver.work_folder).resolve()
    archives = _archives(driver)
    jvm = launch_early(driver.master, folder, driver.conf, archives)
    make = partial(
        spark_for,
        driver.master,
        folder,
        driver.conf,
        at_once=driver.in_flight,
        token=token,
        archives=archives,
        jvm=jvm,
    )
    try:
        from penstock_worker.driver.process import Driver  # noqa: PLC0415 - slow to import

        return Driver(settings, make, told_to_end).serve()
    except CannotServeError as problem:
        log.error("%s: %s", file, problem)  # noqa: TRY400
        return WRONG_SETTINGS
    finally:
        if jvm is not None:
            jvm.kill()  # which is over, but where we were told to end before anybody used it


def _archives(settings: DriverSettings) -> Path | None:
    """Return where archives of classes are; an image may have one of its own, and says so by a variable."""
    folder = settings.java_archives or os.environ.get(ARCHIVES)
    return Path(folder) if folder else None


def _secret(settings: DriverSettings) -> str | None:
    return Path(settings.token_file).read_text().strip() if settings.token_file else None


def _heed_signals() -> threading.Event:
    """Note a signal that comes before the driver serves: it would end us, and leave a JVM that starts."""
    told_to_end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told_to_end.set())
    return told_to_end


if __name__ == "__main__":
    sys.exit(main())
