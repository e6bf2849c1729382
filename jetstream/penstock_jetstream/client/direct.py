"""Direct gets: messages from any replica of a stream, without a consumer (X-03).

Carries out what core.direct decides. What was written a moment ago may not be seen yet; what is needed for sure is had
from `streams.get_message`. The stream must have allow_direct.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self

from penstock_jetstream.client.api import Api
from penstock_jetstream.core.direct import Ask, Deliver, DirectRead, End, Lasts, Plan, Range, nobody_answers, read_one
from penstock_jetstream.core.headers import Headers, HeadersLike
from penstock_jetstream.core.names import checked_name
from penstock_jetstream.core.selection import Selection
from penstock_jetstream.core.stored_message import StoredMessage
from penstock_jetstream.core.subjects import has_wildcards
from penstock_jetstream.errors import ClosedError, JetStreamError, NoRespondersError, RequestTimeoutError
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.events import Closed, Connected, LinkEvent


class Direct:
    """Reads messages by sequence, subject or time."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def get(
        self, stream: str, *, sequence: int = 0, last_by_subject: str = "", next_by_subject: str = ""
    ) -> StoredMessage:
        """Return one message; MissingError if there is none."""
        selection = Selection(sequence, last_by_subject, next_by_subject)
        subject, body = _addressed(checked_name(stream, "stream"), selection)
        try:
            reply = await self._api.exchange(subject, body, repeatable=True)
        except NoRespondersError as problem:
            raise nobody_answers(stream) from problem
        return read_one(stream, selection, reply.headers, reply.payload)

    def read(
        self,
        stream: str,
        *,
        subject: str = "",
        start_sequence: int = 1,
        start_time: datetime | None = None,
        up_to_sequence: int = 0,
        max_messages: int = 0,
    ) -> AsyncIterator[StoredMessage]:
        """Go through a stream in its order, all of it or those on a subject, until its end or up to a sequence."""
        plan = Range(
            subject=subject,
            start_sequence=start_sequence,
            start_time=start_time,
            up_to_sequence=up_to_sequence,
            max_messages=max_messages,
        )
        return self._read(stream, plan)

    def lasts(
        self,
        stream: str,
        subjects: Sequence[str],
        *,
        up_to_sequence: int = 0,
        up_to_time: datetime | None = None,
        max_messages: int = 0,
    ) -> AsyncIterator[StoredMessage]:
        """Go through the last messages of all subjects that match, as they were at one moment; at most 1024 match."""
        plan = Lasts(subjects=subjects, up_to_sequence=up_to_sequence, up_to_time=up_to_time, max_messages=max_messages)
        return self._read(stream, plan)

    async def _read(self, stream: str, plan: Plan) -> AsyncIterator[StoredMessage]:
        subject = f"{self._api.prefix}.DIRECT.GET.{checked_name(stream, 'stream')}"
        machine = DirectRead(stream, plan)
        with _Inbox(self._api.connection) as inbox:
            actions = machine.start()
            while True:
                for action in actions:
                    match action:
                        case Ask(page, body):
                            inbox.ask(subject, page, body, self._api.headers)
                        case Deliver(message):
                            yield message
                        case End(error):
                            if error is not None:
                                raise error
                            return
                answer = await inbox.next(stream, self._api.timeout_seconds)
                actions = machine.relinked() if answer is None else machine.received(*answer)


class _Inbox:
    """Where the pages of one reading arrive. It holds no more than a page, as that is all that is asked for."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._subject = connection.new_inbox()
        self._answers: deque[tuple[int, bytes, bytes] | JetStreamError | None] = deque()
        """Page, header block and payload; an error; or None: there is a link again."""
        self._arrival = asyncio.Event()

    def __enter__(self) -> Self:
        self._subscription = self._connection.subscribe(f"{self._subject}.*", self._arrived)
        self._stop_listening = self._connection.listen(self._link_changed)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_listening()
        self._subscription.unsubscribe()

    def ask(self, subject: str, page: int, body: bytes, headers: HeadersLike | None) -> None:
        """Ask for a page; without a link, the next one has the machine ask again."""
        if self._connection.is_connected:
            reply = f"{self._subject}.{page}"
            self._connection.publish(subject, body, reply=reply, headers=headers, perishable=True)

    async def next(self, stream: str, timeout_seconds: float) -> tuple[int, Headers, bytes] | None:
        """Return what came next; None where there was another link in between."""
        if not self._answers:
            self._arrival.clear()
            try:
                async with asyncio.timeout(timeout_seconds):
                    await self._arrival.wait()
            except TimeoutError as problem:
                raise _silence(stream, timeout_seconds) from problem
        answer = self._answers.popleft()
        if isinstance(answer, JetStreamError):
            raise answer
        return answer and (answer[0], Headers.parse(answer[1]), answer[2])

    def _arrived(self, subject: bytes, _: bytes, header: bytes, payload: bytes) -> None:
        page = subject.rpartition(b".")[2]
        if page.isdigit():  # anyone can send to an inbox
            self._add((int(page), header, payload))

    def _link_changed(self, event: LinkEvent) -> None:
        match event:
            case Connected():
                self._add(None)
            case Closed():
                self._add(ClosedError("The connection was closed while a stream was read."))
            case _:
                pass

    def _add(self, answer: tuple[int, bytes, bytes] | JetStreamError | None) -> None:
        self._answers.append(answer)
        self._arrival.set()


def _addressed(stream: str, selection: Selection) -> tuple[str, bytes]:
    """Say in the subject what fits there, as permissions look there."""
    subject = selection.last_by_subject
    if subject and not has_wildcards(subject):
        return f"DIRECT.GET.{stream}.{subject}", b""
    return f"DIRECT.GET.{stream}", json.dumps(selection.body).encode()


def _silence(stream: str, timeout_seconds: float) -> RequestTimeoutError:
    return RequestTimeoutError(f"Stream {stream} has not answered a direct get within {timeout_seconds:g} s.")
