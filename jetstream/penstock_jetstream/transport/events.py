"""What happens to a connection, and those who want to hear of it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from penstock_jetstream.core.session import ServerInfo
from penstock_jetstream.errors import JetStreamError


@dataclass(frozen=True, slots=True)
class Connected:
    """There is a link; subscriptions are alive again, and what waited to be sent is on its way."""

    server: ServerInfo
    reconnects: int
    """How many links there were before."""


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The link has ended. Another is being looked for, for as long as it takes."""

    reason: JetStreamError


@dataclass(frozen=True, slots=True)
class Failed:
    """One attempt to connect has failed; others follow."""

    server: str
    error: JetStreamError


@dataclass(frozen=True, slots=True)
class ServerReported:
    """The server did not like something (`-ERR`)."""

    text: str


@dataclass(frozen=True, slots=True)
class LameDuck:
    """The server is about to shut down. The connection moves to another, if there is one that takes it."""

    server: ServerInfo


@dataclass(frozen=True, slots=True)
class Closed:
    """The connection was closed by its owner. What could not be sent any more is lost."""

    unsent_bytes: int


LinkEvent = Connected | Disconnected | Failed | ServerReported | LameDuck | Closed
Listener = Callable[[LinkEvent], None]


class Listeners:
    """Any number of them. One that raises is reported to the event loop's exception handler; the others still hear."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def add(self, listener: Listener) -> Callable[[], None]:
        """Return the function that removes it again."""
        self._listeners.append(listener)

        def remove() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return remove

    def tell(self, event: LinkEvent) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception as problem:  # noqa: BLE001 - whatever it is, it is that listener's
                report(f"A listener failed on {type(event).__name__}.", problem)


def report(sentence: str, problem: Exception) -> None:
    """Hand a caller's failure to who looks after such: the event loop's exception handler, which logs by default."""
    asyncio.get_running_loop().call_exception_handler({"message": sentence, "exception": problem})
