"""Requests: one inbox for all of a connection, and a token in it for each.

Knows which question an answer belongs to. Does not know deadlines; an answer to a question that nobody waits for any
more is dropped.
"""

import asyncio
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from penstock_jetstream.core.headers import Headers
from penstock_jetstream.errors import AuthenticationError, JetStreamError, LinkError, NoRespondersError
from penstock_jetstream.transport.subscriptions import Subscription, Subscriptions

NO_RESPONDERS = b"NATS/1.0 503"
TOKEN_BYTES = 9
"""Whoever answers one request sees the inbox: they must not be able to guess the token of the next one."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request."""

    subject: str
    headers: Headers
    payload: bytes


class Requests:
    """What was asked and is not answered yet."""

    def __init__(self, inbox: str, subscriptions: Subscriptions) -> None:
        self._inbox = inbox
        self._subscriptions = subscriptions
        self._subscription: Subscription | None = None
        self._waiting: dict[bytes, tuple[str, asyncio.Future[Reply]]] = {}

    async def ask(self, subject: str, send: Callable[[str], None]) -> Reply:
        """Send with the reply subject that `send` is given, and wait for the answer. Must not outlive the link."""
        if self._subscription is None:
            self._subscription = self._subscriptions.add(f"{self._inbox}.*", self._answer)
        token = f"{self._inbox}.{secrets.token_urlsafe(TOKEN_BYTES)}"
        with self._expecting(token.encode(), subject) as answer:
            send(token)
            return await answer

    @contextmanager
    def _expecting(self, token: bytes, subject: str) -> Iterator[asyncio.Future[Reply]]:
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[token] = (subject, answer)
        try:
            yield answer
        finally:
            del self._waiting[token]

    def _answer(self, token: bytes, _reply: bytes, header: bytes, payload: bytes) -> None:
        subject, answer = self._waiting.get(token, ("", None))
        if answer is None or answer.done():
            return
        try:
            if header.startswith(NO_RESPONDERS) and not payload:
                answer.set_exception(_no_responders(subject))
            else:
                answer.set_result(Reply(token.decode(), Headers.parse(header), payload))
        except JetStreamError as problem:  # the header block is malformed
            answer.set_exception(problem)

    def link_lost(self, reason: JetStreamError) -> None:
        """Answer all that wait: what they wait for can only come over the link that is gone."""
        for subject, answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(
                    LinkError(
                        f"The link was lost before {subject} answered; whether it did what was asked is not known. "
                        f"{reason.sentence}",
                        advice="Ask again if doing it twice does no harm.",
                    )
                )

    def denied(self, denied_subject: str, text: str) -> None:
        """Answer those who asked what may not be published to."""
        for subject, answer in self._waiting.values():
            if subject == denied_subject and not answer.done():
                answer.set_exception(
                    AuthenticationError(
                        f"The server did not pass on the request to {subject}: {text}.",
                        advice="Allow this user to publish there.",
                    )
                )


def _no_responders(subject: str) -> NoRespondersError:
    return NoRespondersError(
        f"Nobody listens on {subject}.",
        advice="Check its spelling, that who answers there is running, and (for JetStream) domain and account.",
    )
