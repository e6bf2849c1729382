"""Answers probes: each page is 200 or 503 with one sentence (/healthz: alive?), or a text of its own (/metrics).

Runs on the event loop of everything else, on purpose: when the loop stalls, no answer comes. A process without one has
it in a thread, which answers as long as the interpreter lets threads run. Knows just enough of HTTP for GET without a
body: a few fixed pages are no reason for a web server in every worker. Does not judge.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http import HTTPStatus

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
class Text:
    """What a page says that is no judgement."""

    kind: str
    body: bytes


Pages = Mapping[str, Callable[[], Judgement | Text]]
"""What is told at each path."""


def _told(pages: Pages, path: str) -> tuple[HTTPStatus, str, bytes]:
    """Return status, type and body."""
    if path not in pages:
        return HTTPStatus.NOT_FOUND, PLAIN, f"There is {', '.join(pages)}.\n".encode()
    said = pages[path]()
    if isinstance(said, Text):
        return HTTPStatus.OK, said.kind, said.body
    status = HTTPStatus.OK if said.holds else HTTPStatus.SERVICE_UNAVAILABLE
    return status, PLAIN, f"{said.sentence}\n".encode()


def address(text: str) -> tuple[str | None, int]:
    """Take HOST:PORT apart; without a host, every address of this machine is meant."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > HIGHEST_PORT:
        raise CannotServeError(f"Probes cannot be served at {text!r}: write HOST:PORT, as in 0.0.0.0:8080 or :8080.")
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
        raise CannotServeError(f"Probes cannot be served at {place}: {problem.strerror}.") from problem
    where = ", ".join(f"{name[0]}:{name[1]}" for name in (each.getsockname() for each in server.sockets))
    logger.info("Probes are served at %s", where)
    try:
        yield
    finally:
        server.close()


@contextmanager
def serving_beside(place: str, pages: Pages) -> Iterator[None]:
    """Answer probes from a thread of their own for as long as the block runs."""
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        over = asyncio.Event()
        async with serving(place, pages):
            begun.set_result((asyncio.get_running_loop(), over))
            await over.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except CannotServeError as problem:
            begun.set_exception(problem)

    thread = threading.Thread(target=run, name="probes", daemon=True)
    thread.start()
    loop, over = begun.result()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()


def _response(request: bytes, pages: Pages) -> bytes:
    method, _, rest = request.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0].decode(errors="replace")
    if method in {b"GET", b"HEAD"}:
        status, kind, body = _told(pages, path)
    else:
        status, kind, body = HTTPStatus.METHOD_NOT_ALLOWED, PLAIN, b"Only GET is answered.\n"
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + (b"" if method == b"HEAD" else body)
