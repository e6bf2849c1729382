"""The link between one client and the server: what is sent takes time, in order, unless the link is lost.

A server may go on sending to a client that is gone, and a client to a server. What is sent at once arrives at once.
"""

from collections.abc import Callable
from typing import Any

from tests.jetstream.simulation.server import Server
from tests.jetstream.simulation.world import World

Item = tuple[Any, ...]
"""To the client: (number, sequence, size, pin) for a message, (number, text, left) for a status."""

ANY = 1 << 60
"""Newer than any request."""


class Link:
    """Both ends of one connection, which may be made again."""

    def __init__(self, world: World, server: Server, *, name: str, delay_seconds: float) -> None:
        self.world = world
        self.server = server
        self.name = name
        self.delay_seconds = delay_seconds
        self.up = True
        """The client believes so."""
        self.interested = True
        """The server believes so."""
        self.left_inboxes_to = 0
        """Answers to requests up to this one go to inboxes that were left."""
        self.passes = True
        """Bytes get through."""
        self.held_until = 0.0
        self.lost_silently = 0
        self.on_items: Callable[[list[Item]], None] = lambda _: None
        self.wire: list[Item] = []
        """What is on its way to the client."""
        self._to_server: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self._session = 0

    # The server's end

    def listens(self, number: int) -> bool:
        return self.interested and number > self.left_inboxes_to

    def send_message(self, number: int, sequence: int, size_bytes: int, pin: str) -> None:
        self._send_to_client((number, sequence, size_bytes, pin))

    def send_status(self, number: int, text: str, left: tuple[int, int] | None = None) -> None:
        self._send_to_client((number, text, left))

    def _send_to_client(self, item: Item) -> None:
        if not self.passes or not self.listens(item[0]):
            return
        if not self.wire:
            self.world.at(self._arrival(), self._arrive_at_client, self._session)
        self.wire.append(item)

    def _arrive_at_client(self, session: int) -> None:
        if session != self._session or not self.passes:
            return
        if self.world.now < self.held_until:
            self.world.at(self.held_until, self._arrive_at_client, session)
            return
        items = list(self.wire)
        self.wire.clear()
        self.on_items(items)

    # The client's end

    def send_to_server(self, call: Callable[..., None], *arguments: Any) -> None:  # noqa: ANN401 - they are the call's
        if not self.up or not self.passes:
            return
        if not self._to_server:
            self.world.at(self._arrival(), self._arrive_at_server, self._session)
        self._to_server.append((call, arguments))

    def _arrive_at_server(self, session: int) -> None:
        if session != self._session or not self.passes:
            return
        calls, self._to_server = self._to_server, []
        for call, arguments in calls:
            call(*arguments)

    def _arrival(self) -> float:
        world = self.world
        return max(self.held_until, world.now + self.delay_seconds * (1 + world.random.random()))

    # What it suffers

    def vanish(self) -> None:
        """Let nothing through any more, without a word to either end."""
        self.passes = False
        self.lost_silently = ANY
        self.wire.clear()
        self._to_server.clear()
        self._session += 1

    def break_off(self) -> None:
        """Let the client know."""
        self.vanish()
        self.up = False

    def connect(self) -> None:
        self._session += 1
        self.passes = self.up = self.interested = True
        self.lost_silently = 0
        self.held_until = 0.0
