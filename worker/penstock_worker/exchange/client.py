"""The engine's side of the exchange: asks the driver who it is, hands batches over, and hears how they ended.

Knows Arrow Flight over a unix socket. All calls block, each has a deadline, and none is made twice: what a lost driver
means is for the engine's machine to say. Holds nothing of a batch once its call has returned.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyarrow import flight

from penstock_worker.exchange.codec import decode, encode
from penstock_worker.exchange.records import AWAIT_END, CANCEL, DESCRIBE, END, FORGET, Description, Handed, RunName
from penstock_worker.policy.outcome import Outcome
from penstock_worker.policy.typed import MalformedError

ANSWER_SECONDS = 10.0
"""For what a driver answers from memory. Its user's code may hold the interpreter for a while."""

CHANNEL_OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),  # else a new client would inherit how long an old one waits to redial
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.enable_http_proxy", 0),
]


class DriverLostError(ConnectionError):
    """The driver is not there, went away during the call, or does not answer."""


class DriverSilentError(DriverLostError):
    """The driver does not answer in time: it may be there, and go on with what it has."""


class DriverFaultError(RuntimeError):
    """The driver answered what is no answer: another version of it, or a fault of its own."""


class DriverClient:
    """A connection to the driver at a socket, there or not: each call dials where that is needed.

    It closes once nothing refers to it any more. There is no way to close it sooner: Arrow's client, if it is closed
    while calls of other threads are under way, crashes the process.
    """

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self._client = flight.FlightClient(f"grpc+unix://{socket}", generic_options=CHANNEL_OPTIONS)

    def describe(self, *, timeout_seconds: float = ANSWER_SECONDS) -> Description:
        """Return who serves there."""
        with self._telling():
            return decode(Description, self._act(DESCRIBE, b"", timeout_seconds))

    def run(self, handed: Handed, rows: pa.Table, *, timeout_seconds: float) -> Outcome:
        """Hand a batch over, and return how its run ended: that may take until the deadline of the batch."""
        descriptor = flight.FlightDescriptor.for_command(encode(handed))
        with self._telling():
            writer, answers = self._client.do_put(descriptor, rows.schema, _within(timeout_seconds))
            with writer:
                writer.write_table(rows)
                writer.done_writing()
                answer = answers.read()
            if answer is None:
                raise DriverFaultError(f"The driver at {self.socket} ended the call without telling an outcome.")
            return decode(Outcome, answer.to_pybytes())

    def outgoing(self, name: RunName, *, timeout_seconds: float) -> pa.Table:
        """Return the messages that a run wants published."""
        with self._telling():
            return self._client.do_get(flight.Ticket(encode(name)), _within(timeout_seconds)).read_all()

    def cancel(self, name: RunName, *, timeout_seconds: float = ANSWER_SECONDS) -> None:
        """Have a run ended. Its outcome comes by its own call."""
        with self._telling():
            self._act(CANCEL, encode(name), timeout_seconds)

    def forget(self, name: RunName, *, timeout_seconds: float = ANSWER_SECONDS) -> None:
        """Tell that nobody will ask for a run's outcome any more."""
        with self._telling():
            self._act(FORGET, encode(name), timeout_seconds)

    def await_end(self) -> Description:
        """Return what the driver says of itself once it begins nothing more; that may take as long as it lives."""
        with self._telling():
            answers = list(self._client.do_action(flight.Action(AWAIT_END, b"")))
            return decode(Description, b"".join(each.body.to_pybytes() for each in answers))

    def end(self, *, timeout_seconds: float = ANSWER_SECONDS) -> None:
        """Have the process end."""
        with self._telling():
            self._act(END, b"", timeout_seconds)

    def _act(self, kind: str, body: bytes, timeout_seconds: float) -> bytes:
        answers = list(self._client.do_action(flight.Action(kind, body), _within(timeout_seconds)))
        return b"".join(each.body.to_pybytes() for each in answers)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Have errors of Arrow told in words of the exchange."""
        try:
            yield
        except (flight.FlightUnavailableError, flight.FlightCancelledError) as problem:
            raise DriverLostError(f"The driver at {self.socket} is gone, or not there yet.") from problem
        except flight.FlightTimedOutError as problem:
            raise DriverSilentError(f"The driver at {self.socket} does not answer in time.") from problem
        except MalformedError as problem:
            raise DriverFaultError(f"The driver at {self.socket} does not speak as we do: {problem}") from problem
        except pa.ArrowException as problem:
            raise DriverFaultError(f"The driver at {self.socket} failed: {_first_line(problem)}") from problem


def _within(seconds: float) -> flight.FlightCallOptions:
    return flight.FlightCallOptions(timeout=seconds)


def _first_line(problem: BaseException) -> str:
    return str(problem).partition("\n")[0]
