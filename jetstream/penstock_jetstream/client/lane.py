"""The lane: messages of a consumer by the block, and their answers by the batch.

Knows how blocks are handed out, and how thousands of answers leave in one write. Does not know how a consumption lives
(consumption.py), when to pull, or what ends it (core/consume.py). There is no object per message, and nothing is done
per message but what the columns of a block need.

Who takes a block off the lane is responsible for it: it no longer counts against the lane's maximum, and nothing here
renews its ack wait. What is left on the lane when it is stopped is given back to the server.
"""

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

from typing_extensions import override

from penstock_jetstream.client.consumption import Consumption, Exists
from penstock_jetstream.client.message import DOUBLE_ACK_SECONDS, Message
from penstock_jetstream.client.pulling import ReportHandler, Source
from penstock_jetstream.core import acks, sizes
from penstock_jetstream.core.options import ConsumeOptions
from penstock_jetstream.core.wire import Block, publish_same
from penstock_jetstream.errors import LinkError
from penstock_jetstream.transport.subscriptions import Subscription


class Lane(Consumption):
    """A consumption by blocks: `async for` hands out each as it came. A block is for one of those who iterate."""

    def __init__(self, source: Source, options: ConsumeOptions, report: ReportHandler, exists: Exists) -> None:
        super().__init__(source, options, report, exists)
        self._blocks: deque[tuple[Block, int]] = deque()

    def __aiter__(self) -> Self:
        self._check_begun()
        return self

    async def __anext__(self) -> Block:
        while not self._blocks:
            if not await self.more():
                raise StopAsyncIteration
        block, size_bytes = self._blocks.popleft()
        self._carry_out(self._machine.processed(len(block), size_bytes, self._loop.time()))
        return block

    @property
    def is_asking(self) -> bool:
        """Tell whether a request for messages is open."""
        return self._machine.in_flight > 0

    def allow(self, messages: int | None) -> None:
        """State the room: how many messages the user can take in addition to those taken so far; None: no limit.

        The lane asks for no more than that. Each message taken afterwards uses up one place until the room is stated
        again, so state it after every block. Messages that were already asked for may still come.
        """
        self._carry_out(self._machine.allow(messages, self._loop.time()))

    # Answers: `replies` are those of blocks, or any part of them.

    def ack(self, replies: Sequence[bytes]) -> None:
        """Acknowledge messages by one write. With ack policy `all` the last of a batch answers for all before it."""
        self._answer(replies, acks.ACK)

    def nak(self, replies: Sequence[bytes], delay_seconds: float | None = None) -> None:
        """Have messages delivered again: at once, or after a delay."""
        self._answer(replies, acks.nak_payload(delay_seconds))

    def term(self, replies: Sequence[bytes], reason: str = "") -> None:
        """Have messages never delivered again."""
        self._answer(replies, acks.term_payload(reason))

    def in_progress(self, replies: Sequence[bytes]) -> None:
        """Work goes on: have the ack wait of these messages begin anew."""
        self._answer(replies, acks.IN_PROGRESS)

    async def settle(self, replies: Sequence[bytes], timeout_seconds: float = DOUBLE_ACK_SECONDS) -> None:
        """Acknowledge messages, and return when the server has taken all of that.

        It takes the answers of a link in their order, so that its word for the last one is good for all. If the link is
        lost meanwhile, which of them it took is not known: settle them again, which does no harm. A server that was
        killed may have forgotten deliveries: what it does not know it does not confirm, and delivers again. So after a
        RequestTimeoutError try once or twice, and then let these messages come again.
        """
        if replies and self.source.is_acknowledged:
            await self._connection.request(
                replies[-1].decode(),
                acks.ACK,
                timeout_seconds=timeout_seconds,
                before=publish_same(replies[:-1], acks.ACK),
            )

    def _answer(self, replies: Sequence[bytes], payload: bytes) -> None:
        if replies and self.source.is_acknowledged:
            self._connection.send(publish_same(replies, payload))

    # What comes

    @override
    def _subscribe(self, subject: str) -> Subscription:
        return self._connection.subscribe_blocks(subject, self._receive_block, self._receive)

    @override
    def _take_for_late(self, former: Subscription) -> None:
        super()._take_for_late(former)
        former.block_handler = self._receive_late_block

    def _receive_block(self, block: Block) -> None:
        if block.headers and self._machine.takes_pins:
            self._learn_pin(block)
        self._carry_out(self._machine.arrived(len(block), self._keep(block), self._loop.time()))

    def _learn_pin(self, block: Block) -> None:
        for header in block.headers.values():
            if (pin_id := sizes.pin_id(header)) and pin_id != self._machine.pin_id:
                self._carry_out(self._machine.pinned(pin_id, self._loop.time()))

    def _receive_late_block(self, block: Block) -> None:
        self._carry_out(self._machine.arrived_late(len(block), self._keep(block), self._loop.time()))

    def _keep(self, block: Block) -> int:
        """Keep a block for its user, and return its size."""
        size_bytes = block_bytes(block, has_pins=self._machine.takes_pins) if self._counts_bytes else 0
        if self._is_discarding:
            self._give_back(block)
        else:
            self._blocks.append((block, size_bytes))
            self._waiting.wake(1)
        return size_bytes

    @override
    def _take(self, messages: list[Message], now: float) -> None:
        raise AssertionError("A lane has no single messages.")

    @override
    def _discard(self) -> None:
        while self._blocks:
            self._give_back(self._blocks.popleft()[0])

    def _give_back(self, block: Block) -> None:
        with suppress(LinkError):  # then they are delivered again when their ack wait is over
            self.nak(block.replies)


def block_bytes(block: Block, *, has_pins: bool) -> int:
    """Return how large the messages of a block are together, as the server counts (C-36)."""
    columns = sum(sum(map(len, column)) for column in (block.subjects, block.replies, block.payloads))
    return columns + sum(map(sizes.header_bytes_without_pin if has_pins else len, block.headers.values()))
