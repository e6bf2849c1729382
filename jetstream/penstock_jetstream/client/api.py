"""Asking JetStream's API: one request, one answer, or an error that says what was to be done to what.

Knows when a request may be sent again because the link was lost, and what silence means. Does not know the requests
(core), or what is in their answers.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar

from penstock_jetstream.core.account_info import AccountInfo
from penstock_jetstream.core.facts import Facts
from penstock_jetstream.core.requests import (
    ACCOUNT_INFO,
    REQUIRED_LEVEL_HEADER,
    Request,
    read_answer,
    read_page,
    read_success,
)
from penstock_jetstream.errors import (
    AuthenticationError,
    BufferFullError,
    ClosedError,
    LinkError,
    NoRespondersError,
    RequestTimeoutError,
    UsageError,
)
from penstock_jetstream.errors.listing import IncompleteListError
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.requests import Reply

_Entry = TypeVar("_Entry")
NOT_MENDED_BY_ANOTHER_LINK = (AuthenticationError, BufferFullError, ClosedError)
"""Of the LinkErrors, those that do not mean that a link was lost."""
DEFAULT_TIMEOUT_SECONDS = 5
"""A cluster that elects a leader answers within this."""


class Api:
    """The API behind one prefix: of the connection's own servers, of a domain, or of another account."""

    def __init__(
        self,
        connection: Connection,
        *,
        prefix: str,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        required_api_level: int | None = None,
    ) -> None:
        self.connection = connection
        self.prefix = prefix
        self.timeout_seconds = timeout_seconds
        self.headers = None if required_api_level is None else {REQUIRED_LEVEL_HEADER: str(required_api_level)}
        """What every request is sent with."""
        self._known_level: tuple[object, int] | None = None

    async def ask(self, request: Request) -> Facts:
        """Return the answer; raise what the server refuses."""
        return read_answer(request, await self._answer(request))

    async def confirm(self, request: Request) -> None:
        """Ask for what has no other answer than that it was done."""
        read_success(request, await self._answer(request))

    async def pages(
        self, request_at: Callable[[int], Request], read: Callable[[Facts], Sequence[_Entry]]
    ) -> AsyncIterator[_Entry]:
        """Go through a list, page by page; end with an error if the server could not give all of it."""
        request = request_at(0)
        offset: int | None = 0
        unavailable: dict[str, str] = {}
        while offset is not None:
            facts = await self.ask(request_at(offset))
            page = read_page(facts, read(facts))
            for entry in page.entries:
                yield entry
            unavailable |= page.unavailable
            offset = page.next_offset
        if unavailable:
            raise IncompleteListError(request.object, unavailable)

    async def account(self) -> AccountInfo:
        return AccountInfo.read(await self.ask(ACCOUNT_INFO))

    async def level(self) -> int:
        """Return the API level that the server has (X-08). It is asked once per link."""
        server = self.connection.server
        if self._known_level is None or self._known_level[0] is not server:
            self._known_level = (server, (await self.account()).api_level)
        return self._known_level[1]

    async def require_level(self, needed: int, version: str, what: str) -> None:
        """Refuse what a server would ignore, or take for something else, as it is too old."""
        level = await self.level()
        if level < needed:
            raise UsageError(
                f"{what} needs a server with API level {needed}, and this one has {level}.",
                advice=f"Upgrade it to {version} or later.",
            )

    async def exchange(self, subject: str, payload: bytes, *, repeatable: bool) -> Reply:
        """Send below the prefix, and return what comes back; where the link is lost, again if that does no harm."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout_seconds
        while True:
            try:
                return await self.connection.request(
                    f"{self.prefix}.{subject}",
                    payload,
                    headers=self.headers,
                    timeout_seconds=max(0, deadline - loop.time()),
                )
            except NOT_MENDED_BY_ANOTHER_LINK:
                raise
            except LinkError:
                if not repeatable or loop.time() >= deadline:
                    raise

    async def _answer(self, request: Request) -> bytes:
        try:
            reply = await self.exchange(request.subject, request.payload, repeatable=request.repeatable)
        except NoRespondersError as problem:
            raise self._nobody(request) from problem
        except RequestTimeoutError as problem:
            raise self._silence(request) from problem
        except NOT_MENDED_BY_ANOTHER_LINK:
            raise
        except LinkError as problem:
            raise self._lost(request, problem) from problem
        return reply.payload

    def _nobody(self, request: Request) -> NoRespondersError:
        return NoRespondersError(
            f"{_capital(request.object)} could not be {request.operation}: nobody answers on {self.prefix}.",
            advice="JetStream is not enabled for this account, or no server of the domain can be reached.",
        )

    def _silence(self, request: Request) -> RequestTimeoutError:
        seconds, what = f"{self.timeout_seconds:g} s", f"when {request.object} was to be {request.operation}"
        if not self.connection.is_connected:
            return RequestTimeoutError(f"There was no link to a server for {seconds} {what}: nothing was sent.")
        return RequestTimeoutError(f"No answer came within {seconds} {what}.", advice=_fate(request))

    def _lost(self, request: Request, problem: LinkError) -> LinkError:
        return LinkError(
            f"The link was lost when {request.object} was to be {request.operation}: {problem.sentence}",
            advice=_fate(request),
        )


def _fate(request: Request) -> str:
    return "" if request.repeatable else "Whether it was done is not known: look before you repeat it."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
