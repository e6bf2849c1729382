"""The other end of the exchange, for tests of the engine: a Flight server whose runs do what a test says.

Knows the exchange only. As a program, `python -m tests.worker.scripted_driver SOCKET ok|hang`, it answers each batch
with OK, or never, and can be killed; in a test's own process each run calls a function of the test.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pyarrow as pa
from pyarrow import flight
from typing_extensions import override

from penstock_worker.exchange.codec import decode, encode
from penstock_worker.exchange.columns import OUTGOING
from penstock_worker.exchange.records import CANCEL, DESCRIBE, FORGET, Description, Handed, RunName
from penstock_worker.policy.outcome import Outcome, Verdict

Process = Callable[[Handed, pa.Table], Outcome]
incarnations = count(1)


def hang(_handed: Handed, _rows: pa.Table) -> Outcome:
    print("hanging", flush=True)  # noqa: T201 - for the test, in the program's log
    threading.Event().wait()
    raise AssertionError("Nobody sets it.")


def ok(_handed: Handed, _rows: pa.Table) -> Outcome:
    return Outcome(Verdict.OK, 0.0)


@dataclass
class Script:
    """What a driver does, and what it was asked."""

    process: Process = ok
    outgoing: pa.Table = field(default_factory=OUTGOING.empty_table)
    on_fetch: Callable[[], None] = lambda: None
    """Is called when the messages to be published are fetched."""
    description: Description | None = None
    handed: list[tuple[Handed, pa.Table]] = field(default_factory=list)
    cancelled: list[RunName] = field(default_factory=list)
    forgotten: list[RunName] = field(default_factory=list)
    is_cancelled: threading.Event = field(default_factory=threading.Event)

    def sequences(self) -> list[list[int]]:
        """Return the sequences of each run so far."""
        return [rows["seq"].to_pylist() for _, rows in list(self.handed)]


class ScriptedDriver(flight.FlightServerBase):  # type: ignore[misc]  # pyarrow has no types
    """Serves until it is closed."""

    def __init__(self, socket: Path, script: Script) -> None:
        super().__init__(f"grpc+unix://{socket}")
        self.script = script
        incarnation = f"scripted-{next(incarnations)}"
        self._description = Description(incarnation=incarnation, entrypoint="etl:process", spark="none", ready=True)

    @override
    def do_put(
        self,
        context: flight.ServerCallContext,
        descriptor: flight.FlightDescriptor,
        reader: flight.MetadataRecordBatchReader,
        writer: flight.FlightMetadataWriter,
    ) -> None:
        handed, rows = decode(Handed, descriptor.command), reader.read_all()
        self.script.handed.append((handed, rows))
        writer.write(encode(self.script.process(handed, rows)))

    @override
    def do_get(self, context: flight.ServerCallContext, ticket: flight.Ticket) -> flight.RecordBatchStream:
        decode(RunName, ticket.ticket)
        self.script.on_fetch()
        return flight.RecordBatchStream(self.script.outgoing)

    @override
    def do_action(self, context: flight.ServerCallContext, action: flight.Action) -> Iterator[flight.Result]:
        match action.type:
            case kind if kind == DESCRIBE:
                yield flight.Result(encode(self.script.description or self._description))
            case kind if kind == CANCEL:
                self.script.cancelled.append(decode(RunName, action.body.to_pybytes()))
                self.script.is_cancelled.set()
            case kind if kind == FORGET:
                self.script.forgotten.append(decode(RunName, action.body.to_pybytes()))


if __name__ == "__main__":
    ScriptedDriver(Path(sys.argv[1]), Script(process={"ok": ok, "hang": hang}[sys.argv[2]])).serve()
