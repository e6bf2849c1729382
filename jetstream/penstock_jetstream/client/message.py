"""A message of a stream, as users see it: what it says, where it stands, and the answers it may be given.

Knows how an answer is sent. Does not know what answers are (core/acks.py) or how the message came here. Made once per
message on the busiest path there is, so that nothing is decoded or parsed before someone asks for it.
"""

from typing import Protocol

from typing_extensions import override

from penstock_jetstream.core import acks, wire
from penstock_jetstream.core.acks import AckToken, Answerable
from penstock_jetstream.core.headers import Headers
from penstock_jetstream.core.sizes import header_bytes_without_pin, size_bytes
from penstock_jetstream.errors import UsageError

DOUBLE_ACK_SECONDS = 5.0


class Link(Protocol):
    """What a message needs of its connection."""

    def send(self, data: bytes, /) -> None: ...

    async def request(self, subject: str, payload: bytes, *, timeout_seconds: float) -> object: ...


class Message(Answerable):
    """One message. Each answer leaves with the connection's next write; only `double_ack` waits for the server."""

    __slots__ = ("_header", "_headers", "_link", "_reply", "_subject", "_token", "data")

    _headers: Headers
    _token: AckToken

    def __init__(  # noqa: PLR0917 - called per message, where names would cost
        self,
        link: Link,
        subject: bytes,
        reply: bytes,
        header: bytes,
        data: bytes,
        is_settled: bool = False,  # noqa: FBT001, FBT002
    ) -> None:
        self._link = link
        self._subject = subject
        self._reply = reply
        self._header = header
        self.data = data
        self.is_settled = is_settled

    @property
    def subject(self) -> str:
        return self._subject.decode()

    @property
    def reply(self) -> str:
        """Where its answers go; it is also its ack token."""
        return self._reply.decode()

    @property
    def raw_reply(self) -> bytes:
        """The same as it came."""
        return self._reply

    @property
    def headers(self) -> Headers:
        try:
            return self._headers
        except AttributeError:
            self._headers = Headers(self._header)
            return self._headers

    @property
    def metadata(self) -> AckToken:
        """Where it stands in its stream and consumer. A ProtocolError if it is no message of a stream."""
        try:
            return self._token
        except AttributeError:
            self._token = acks.parse_token(self._reply)
            return self._token

    @property
    def size_bytes(self) -> int:
        """What it counts against `max_bytes` of a pull (C-36)."""
        return size_bytes(self._subject, self._reply, self._header, self.data)

    def ack(self) -> None:
        """It is done."""
        if self.is_settled:
            return
        if not self._reply.startswith(acks.ACK_PREFIX):
            raise self._not_of_a_stream()
        self._link.send(b"PUB %b 4\r\n+ACK\r\n" % self._reply)
        self.is_settled = True

    def nak(self, delay_seconds: float | None = None) -> None:
        """Have it delivered again: at once, or after a delay, for which it goes on counting as unacknowledged."""
        self.answer(acks.nak_payload(delay_seconds))

    def term(self, reason: str = "") -> None:
        """Have it never delivered again. The reason stands in the advisory that the server publishes."""
        self.answer(acks.term_payload(reason))

    def in_progress(self) -> None:
        """Work goes on: its ack wait begins anew. May be said any number of times."""
        self.answer(acks.IN_PROGRESS, is_final=False)

    async def double_ack(self, timeout_seconds: float = DOUBLE_ACK_SECONDS) -> bool:
        """Acknowledge it and wait until the server has taken that; False, and nothing sent, if it was settled before.

        It may be called again after an error, as the message is settled only when the server has answered. The answer
        proves that the server has seen the ack, and no more: it comes also when the ack was too late, and the message
        has been delivered to someone else meanwhile.
        """
        if self.is_settled:
            return False
        if not self._reply.startswith(acks.ACK_PREFIX):
            raise self._not_of_a_stream()
        await self._link.request(self._reply.decode(), acks.ACK, timeout_seconds=timeout_seconds)
        self.is_settled = True
        return True

    @override
    def _send_answer(self, payload: bytes) -> None:
        if not self._reply.startswith(acks.ACK_PREFIX):
            raise self._not_of_a_stream()
        self._link.send(wire.publish(self._reply, payload))

    def _not_of_a_stream(self) -> UsageError:
        return UsageError(
            f"The message on {self.subject} cannot be answered: it comes from no stream.",
            advice="Messages of a consumer have a reply subject that begins with $JS.ACK.",
        )

    @override
    def __repr__(self) -> str:
        return f"<Message on {self.subject}: {len(self.data)} bytes>"


class PinnedMessage(Message):
    """One to which the server has added the pin of its priority group, which it does not count."""

    __slots__ = ()

    @property
    @override
    def size_bytes(self) -> int:
        return size_bytes(self._subject, self._reply, b"", self.data) + header_bytes_without_pin(self._header)
