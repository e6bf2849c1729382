"""The driver's side of the exchange: serves what records.py says, and leaves what it means to a Service.

Knows Arrow Flight over a unix socket, which only our own user may open. Each call has a thread of gRPC's. Does not know
what a run does.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

import pyarrow as pa
from pyarrow import flight
from typing_extensions import override

from penstock_worker.exchange.codec import decode, encode
from penstock_worker.exchange.columns import COLUMNS
from penstock_worker.exchange.records import AWAIT_END, CANCEL, DESCRIBE, END, FORGET, Description, Handed, RunName
from penstock_worker.policy.outcome import Outcome
from penstock_worker.policy.typed import MalformedError

OURS_ALONE = 0o077

T = TypeVar("T")


class NotNowError(RuntimeError):
    """No batch can be handed over at present; it was not begun."""


class Service(Protocol):
    """What the driver does for the engine. Each method may be called by several threads at once."""

    def describe(self) -> Description: ...

    def run(self, handed: Handed, rows: pa.Table) -> Outcome:
        """Run a batch and return its outcome, or await it if it runs, or tell it again; or raise NotNowError."""

    def outgoing(self, name: RunName) -> pa.Table:
        """Return what the run wants published; KeyError if it is not known."""

    def cancel(self, name: RunName) -> None: ...

    def forget(self, name: RunName) -> None: ...

    def await_end(self, is_cancelled: Callable[[], bool]) -> Description:
        """Return once no batch is begun any more, or nobody waits for it: then whatever is the case."""

    def end(self) -> None:
        """Have this process end, soon: it is to be answered first."""


class DriverServer(flight.FlightServerBase):  # type: ignore[misc]  # pyarrow has no types
    """Serves from when it is made until `shutdown`."""

    def __init__(self, socket: Path, service: Service) -> None:
        socket.unlink(missing_ok=True)  # of a driver that was killed: whoever starts us has but one
        before = os.umask(OURS_ALONE)
        try:
            super().__init__(f"grpc+unix://{socket}")
        finally:
            os.umask(before)
        self._service = service

    @override
    def do_put(
        self,
        context: flight.ServerCallContext,
        descriptor: flight.FlightDescriptor,
        reader: flight.MetadataRecordBatchReader,
        writer: flight.FlightMetadataWriter,
    ) -> None:
        handed = _decoded(Handed, descriptor.command)
        missing = set(COLUMNS.names).difference(reader.schema.names)
        if missing:
            raise flight.FlightServerError(f"A batch has the columns {COLUMNS.names}: it lacks {sorted(missing)}.")
        try:
            outcome = self._service.run(handed, reader.read_all().select(COLUMNS.names))
        except NotNowError as reason:
            raise flight.FlightUnavailableError(str(reason)) from reason
        writer.write(pa.py_buffer(encode(outcome)))

    @override
    def do_get(self, context: flight.ServerCallContext, ticket: flight.Ticket) -> flight.RecordBatchStream:
        name = _decoded(RunName, ticket.ticket)
        try:
            return flight.RecordBatchStream(self._service.outgoing(name))
        except KeyError:
            raise flight.FlightServerError(f"Run {name.run} of batch {name.batch_id} is not known here.") from None

    @override
    def do_action(self, context: flight.ServerCallContext, action: flight.Action) -> Iterator[flight.Result]:
        body = action.body.to_pybytes()
        match action.type:
            case kind if kind == DESCRIBE:
                yield flight.Result(pa.py_buffer(encode(self._service.describe())))
            case kind if kind == CANCEL:
                self._service.cancel(_decoded(RunName, body))
            case kind if kind == FORGET:
                self._service.forget(_decoded(RunName, body))
            case kind if kind == AWAIT_END:
                yield flight.Result(pa.py_buffer(encode(self._service.await_end(context.is_cancelled))))
            case kind if kind == END:
                self._service.end()
            case unknown:
                raise flight.FlightServerError(f"There is no action {unknown!r}.")


def _decoded(kind: type[T], data: bytes) -> T:
    try:
        return decode(kind, data)
    except MalformedError as problem:
        raise flight.FlightServerError(f"The engine does not speak as we do: {problem}") from problem
