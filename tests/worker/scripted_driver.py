"""The driver's end of the exchange, for tests of the engine: each run calls a function of the test.

As a program, `python -m tests.worker.scripted_driver SOCKET ok|hang`, it answers each batch with OK, or never.
"""

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import pyarrow as pa
from typing_extensions import override

from penstock_worker.exchange.columns import OUTGOING
from penstock_worker.exchange.records import Description, Handed, RunName
from penstock_worker.exchange.server import DriverServer, Service
from penstock_worker.policy.outcome import Outcome, Verdict
from tests.testbed.programs import Program
from tests.testbed.waiting import WITHIN_SECONDS
from tools.environment import ROOT

Process = Callable[[Handed, pa.Table], Outcome]
incarnations = count(1)
LOOK_SECONDS = 0.1


def hang(_handed: Handed, _rows: pa.Table) -> Outcome:
    print("hanging", flush=True)  # noqa: T201 - for the test, in the program's log
    threading.Event().wait()
    raise AssertionError("This is never set.")


def ok(_handed: Handed, _rows: pa.Table) -> Outcome:
    return Outcome(Verdict.OK, 0.0)


class Gate:
    """Lets runs begin, and holds them until it is opened."""

    def __init__(self, outcome: Outcome | None = None) -> None:
        self.outcome = outcome or Outcome(Verdict.OK, 0.0)
        self.has_begun = threading.Event()
        self._is_open = threading.Event()

    def __call__(self, *_: object) -> Outcome:
        self.has_begun.set()
        self._is_open.wait(WITHIN_SECONDS)
        return self.outcome

    def open(self) -> None:
        self._is_open.set()


@dataclass
class Script:
    """What the driver does, and the calls that it received."""

    process: Process = ok
    outgoing: pa.Table = field(default_factory=OUTGOING.empty_table)
    on_fetch: Callable[[], None] = lambda: None
    """Called when outgoing messages are fetched."""
    description: Description | None = None
    handed: list[tuple[Handed, pa.Table]] = field(default_factory=list)
    forgotten: list[RunName] = field(default_factory=list)
    is_cancelled: threading.Event = field(default_factory=threading.Event)
    is_ended: threading.Event = field(default_factory=threading.Event)
    is_ending: threading.Event = field(default_factory=threading.Event)
    """Set by a test: answers the call that waits for the driver's end."""

    def sequences(self) -> list[list[int]]:
        """Return the sequences of each run so far."""
        return [rows["seq"].to_pylist() for _, rows in list(self.handed)]


class ScriptedService(Service):
    def __init__(self, script: Script) -> None:
        self.script = script
        self.is_closed = threading.Event()
        incarnation = f"scripted-{next(incarnations)}"
        self._description = Description(incarnation=incarnation, entrypoint="etl:process", spark="none", ready=True)

    @override
    def describe(self) -> Description:
        return replace(self.script.description or self._description, ending=self.script.is_ending.is_set())

    @override
    def run(self, handed: Handed, rows: pa.Table) -> Outcome:
        self.script.handed.append((handed, rows))
        return self.script.process(handed, rows)

    @override
    def outgoing(self, name: RunName) -> pa.Table:
        self.script.on_fetch()
        return self.script.outgoing

    @override
    def cancel(self, name: RunName) -> None:
        self.script.is_cancelled.set()

    @override
    def forget(self, name: RunName) -> None:
        self.script.forgotten.append(name)

    @override
    def await_end(self, is_cancelled: Callable[[], bool]) -> Description:
        while not self.script.is_ending.wait(LOOK_SECONDS) and not is_cancelled() and not self.is_closed.is_set():
            pass
        return self.describe()

    @override
    def end(self) -> None:
        self.script.is_ended.set()


class ScriptedDriver(DriverServer):
    def __init__(self, socket: Path, script: Script) -> None:
        self._scripted = ScriptedService(script)
        super().__init__(socket, self._scripted)

    @override
    def __exit__(self, *problem: object) -> None:
        """End the call that waits for our end, which in turn waits for all calls."""
        self._scripted.is_closed.set()
        super().__exit__(*problem)


def driver_process(socket: Path, behaviour: str) -> Program:
    """Return a driver as a process of its own; it has not started yet."""
    command = [sys.executable, "-m", "tests.worker.scripted_driver", str(socket), behaviour]
    return Program("driver", command, socket.parent, {"PYTHONPATH": str(ROOT)})


if __name__ == "__main__":
    ScriptedDriver(Path(sys.argv[1]), Script(process={"ok": ok, "hang": hang}[sys.argv[2]])).serve()
