"""A worker as it is in real life: an engine and a driver with Spark, each started again whenever it ends."""

import json
import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path

import psutil

from penstock_worker.policy.settings import WorkerSettings
from tests.testbed import processes
from tests.testbed.programs import Program

CODE = Path(__file__).with_name("code")
END_SECONDS = 60
EXECUTOR = "CoarseGrainedExecutorBackend"
"""The class that the JVM of an executor runs."""


class Worker:
    """One engine, one driver, and its JVM."""

    def __init__(self, settings: WorkerSettings, folder: Path, sinks: Path) -> None:
        self.name = settings.engine.worker
        self.settings = settings
        file = folder / f"{self.name}.json"
        file.write_text(json.dumps(asdict(settings)))
        told = ["--settings", str(file)]
        environment = {"SINKS": str(sinks), "WORKER": self.name}
        python = [sys.executable, "-m"]
        self.engine = Program(f"engine-{self.name}", [*python, "penstock_worker.engine", *told], folder)
        self.driver = Program(
            f"driver-{self.name}", [*python, "penstock_worker.driver.main", *told], folder, environment
        )
        self._is_kept = False
        self._lock = threading.Lock()

    def start(self) -> None:
        self._is_kept = True
        self.keep()

    def keep(self) -> None:
        """Start again what has ended."""
        with self._lock:
            for program in (self.driver, self.engine):
                if self._is_kept and not program.is_running:
                    program.start()

    def leave(self) -> None:
        """Let what ends be ended."""
        with self._lock:
            self._is_kept = False

    def end(self) -> None:
        self.leave()
        self.kill("engine", "driver")

    def kill(self, *names: str) -> None:
        """Kill processes (kill -9): `engine`, `driver`."""
        with self._lock:
            for name in names:
                program: Program = getattr(self, name)
                if program.is_running:
                    program.kill()

    def terminate(self) -> None:
        """End both politely (SIGTERM), as a kubelet does."""
        with self._lock:
            running = [program for program in (self.engine, self.driver) if program.is_running]
            for program in running:
                program.send(signal.SIGTERM)
            for program in running:
                program.wait_ended(END_SECONDS)

    def jvm(self) -> psutil.Process | None:
        """Return the JVM, if there is one at the moment."""
        try:
            children = psutil.Process(self.driver.pid).children(recursive=True)
            return next((child for child in children if processes.program(child) == "java"), None)
        except psutil.NoSuchProcess:
            return None

    def executors(self) -> list[psutil.Process]:
        """Return the processes of Spark's executors, where those are not threads of the JVM."""
        children = psutil.Process(self.driver.pid).children(recursive=True)
        return [child for child in children if EXECUTOR in " ".join(processes.words(child))]
