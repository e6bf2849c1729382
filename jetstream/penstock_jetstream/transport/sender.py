"""What we send: collected, and written once per turn of the event loop.

Knows the outbox, and the link of the moment. While there is none, or its backlog is long, pieces wait in the outbox.
"""

import asyncio

from penstock_jetstream.core.outbox import Outbox
from penstock_jetstream.transport.link import Link

LARGE_PIECE_BYTES = 64 << 10
"""So much is worth a write of its own: joining it with others would copy it."""


class Sender:
    """The way out. All but a link's own housekeeping goes through it, in order."""

    def __init__(self, max_pending_bytes: int) -> None:
        self._outbox = Outbox(max_pending_bytes)
        self._link: Link | None = None
        self._turn: asyncio.Handle | None = None

    @property
    def pending_bytes(self) -> int:
        return self._outbox.size_bytes + (self._link.backlog_bytes if self._link is not None else 0)

    def send(self, piece: bytes, *, perishable: bool = False) -> None:
        """Send whole frames with the next write. A perishable piece does not outlive the link of the moment."""
        if self._link is None and perishable:
            return
        if len(piece) >= LARGE_PIECE_BYTES:
            self.push()
            self._outbox.add(piece, perishable=perishable)
            self.push()
        else:
            self._outbox.add(piece, perishable=perishable)
            self._push_soon()

    def tell(self, frames: bytes) -> None:
        """Send what the server of the moment has to know, in its place between messages; without one, it need not."""
        if self._link is not None:
            self._outbox.add_housekeeping(frames)
            self._push_soon()

    def _push_soon(self) -> None:
        if self._turn is None and self._link is not None:
            self._turn = asyncio.get_running_loop().call_soon(self.push)

    def push(self) -> None:
        """Write what has been collected, as far as the link takes it."""
        self._forget_turn()
        link = self._link
        if link is None or not self._outbox or not link.is_writable:
            return
        link.write(self._outbox.take())
        if not link.is_writable:
            self._outbox.elsewhere_bytes = link.backlog_bytes

    def writable(self) -> None:
        """Go on: the link's backlog is gone."""
        self._outbox.elsewhere_bytes = 0
        self.push()

    def attach(self, link: Link, first: bytes) -> None:
        """Send what waits over a new link, after what its server has to know first."""
        self._link = link
        if first:
            link.write(first)
        self.push()

    def detach(self) -> None:
        """Wait for the next link. What only this one was worth is dropped."""
        self._link = None
        self._outbox.link_lost()
        self._forget_turn()

    def _forget_turn(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
