"""How patient a connection is, and how much it holds. The defaults suit a data centre."""

import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from penstock_jetstream.core.wire import MAX_FRAME_BYTES

Reach = Callable[[str, int], Awaitable[socket.socket | None]]
"""Is told the host and the port of a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What rarely needs another value."""

    connect_timeout_seconds: float = 5
    """For each step on the way to a server: its address, its greeting, TLS, its answer to CONNECT."""
    ping_interval_seconds: float = 3
    """A dead peer is found within three of these."""
    close_timeout_seconds: float = 5
    """How long close() tries to get out what waits to be sent."""
    first_backoff_seconds: float = 0.1
    """The most that is waited after the first fruitless round over all servers; it doubles with each."""
    most_backoff_seconds: float = 5
    max_pending_bytes: int = 64 << 20
    """How much may wait to be sent, before publishing fails."""
    max_message_bytes: int = MAX_FRAME_BYTES
    """The largest message that is received; a server that sends a larger one is dropped. What is received is held and
    parsed in memory, and a server may be somebody else's."""
    read_moderation_seconds: float = 0.0005
    """While there are subscriptions for blocks, how long to wait after a small read: fewer reads cost less."""
    reach: Reach | None = None
    """Makes sockets to servers that cannot just be dialled: by way of a proxy, or of a tunnel. It returns one that is
    connected and does not block, or None where the address is to be dialled after all. TLS is spoken over it as ever,
    and checks the name of the address."""
