"""The engine's answers to the server: acknowledgements, terminations, and what goes back, each batch by one write.

Knows how they are sent and confirmed. Does not know what is answered, or why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock_jetstream import Connection, Consumer, Lane
from penstock_jetstream.core.acks import term_payload
from penstock_jetstream.errors import LinkError

CONFIRM_SECONDS = 10.0
LONGEST_REASON = 200
"""Of a termination, in the server's advisory; the dead letter has all of it."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """The final answers of a batch."""

    acknowledged: Sequence[bytes]
    terminated: Sequence[tuple[Sequence[bytes], str]]
    """With the reason of each."""


@dataclass(slots=True)
class Answers:
    """Of one consumer. They need no lane that is open: a message can be answered long after its lane was closed."""

    connection: Connection
    consumer: Consumer
    is_open: bool = True
    """Whether the link is there, and what is held is still meant by it. What is said meanwhile is dropped."""
    _lane: Lane = field(init=False)

    def __post_init__(self) -> None:
        self._lane = self.consumer.lane()

    def ack(self, replies: Sequence[bytes]) -> None:
        if self.is_open:
            self._lane.ack(replies)

    def nak(self, replies: Sequence[bytes], delay_seconds: float) -> None:
        if self.is_open:
            self._lane.nak(replies, delay_seconds or None)

    def term(self, replies: Sequence[bytes], reason: str) -> None:
        if self.is_open:
            self._lane.term(replies, _one_line(reason))

    def in_progress(self, replies: Sequence[bytes]) -> None:
        if self.is_open:
            self._lane.in_progress(replies)

    async def settle(self, settlement: Settlement) -> None:
        """Give final answers, and return when the server has taken them; if that is not known, raise.

        The server takes answers in their order: its word for the last one is good for all before it.
        """
        if not self.is_open:
            raise LinkError("There is no link to the server at the moment.")
        if settlement.acknowledged:
            for replies, reason in settlement.terminated:
                self.term(replies, reason)
            await self._lane.settle(settlement.acknowledged, CONFIRM_SECONDS)
            return
        *before, (replies, reason) = settlement.terminated
        for others, their_reason in (*before, (replies[:-1], reason)):
            self.term(others, their_reason)
        final = term_payload(_one_line(reason))
        await self.connection.request(replies[-1].decode(), final, timeout_seconds=CONFIRM_SECONDS)


def _one_line(reason: str) -> str:
    return " ".join(reason.split())[:LONGEST_REASON]
