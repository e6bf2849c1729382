"""Answers probes: /healthz (alive?) and /readyz (ready?), each 200 or 503 with one sentence; and tells /metrics.

Runs on the event loop of everything else, on purpose: when the loop stalls, no answer comes. Knows just enough of HTTP
for GET without a body: three fixed pages are no reason for a web server in every worker. Does not judge.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

from prometheus_client import CONTENT_TYPE_LATEST

REQUEST_SECONDS = 5.0
LONGEST_REQUEST = 16 << 10
PLAIN = "text/plain; charset=utf-8"
HIGHEST_PORT = 65535

logger = logging.getLogger(__name__)


class CannotServeError(Exception):
    """The probes cannot be served at that address."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether it is so, and why."""

    holds: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class Pages:
    """What is told at each path."""

    alive: Callable[[], Judgement]
    ready: Callable[[], Judgement]
    metrics: Callable[[], bytes]

    def at(self, path: str) -> tuple[HTTPStatus, str, bytes]:
        """Return status, type and body."""
        match path:
            case "/healthz":
                return _told(self.alive())
            case "/readyz":
                return _told(self.ready())
            case "/metrics":
                return HTTPStatus.OK, CONTENT_TYPE_LATEST, self.metrics()
            case _:
                return HTTPStatus.NOT_FOUND, PLAIN, b"There are /healthz, /readyz and /metrics.\n"


def _told(judgement: Judgement) -> tuple[HTTPStatus, str, bytes]:
    status = HTTPStatus.OK if judgement.holds else HTTPStatus.SERVICE_UNAVAILABLE
    return status, PLAIN, f"{judgement.sentence}\n".encode()


def address(text: str) -> tuple[str | None, int]:
    """Take HOST:PORT apart; without a host, every address of this machine is meant."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > HIGHEST_PORT:
        raise CannotServeError(f"engine.probes: {text!r} is not HOST:PORT, as in 0.0.0.0:8080 or :8080.")
    return host.removeprefix("[").removesuffix("]") or None, int(port)


@asynccontextmanager
async def serving(place: str, pages: Pages) -> AsyncIterator[None]:
    """Answer probes and scrapes for as long as the block runs."""
    host, port = address(place)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(_response(request, pages))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as problem:
            logger.debug("A probe was not answered: %s", problem)
        finally:
            writer.close()

    try:
        server = await asyncio.start_server(answer, host, port, limit=LONGEST_REQUEST)
    except OSError as problem:
        raise CannotServeError(f"The probes cannot be served at {place}: {problem.strerror}.") from problem
    where = ", ".join(f"{name[0]}:{name[1]}" for name in (each.getsockname() for each in server.sockets))
    logger.info("Probes are served at %s", where)
    try:
        yield
    finally:
        server.close()


def _response(request: bytes, pages: Pages) -> bytes:
    method, _, rest = request.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0].decode(errors="replace")
    if method in {b"GET", b"HEAD"}:
        status, kind, body = pages.at(path)
    else:
        status, kind, body = HTTPStatus.METHOD_NOT_ALLOWED, PLAIN, b"Only GET is answered.\n"
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + (b"" if method == b"HEAD" else body)
