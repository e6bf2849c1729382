"""Which server to try next, and how long to wait before.

Knows addresses, those that were given and those that servers tell of, and the rounds in which they are tried. Does not
know sockets; chance comes in as a number from 0 to 1.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, unquote, urlsplit

from typing_extensions import override

from penstock_jetstream.errors import UsageError

DEFAULT_PORT = 4222
STEADY_SECONDS = 10
"""A link that lasted for so long was a good one: when it is lost, the next attempt is made at once."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where one server is."""

    host: str
    port: int = DEFAULT_PORT
    tls: bool = False
    """The URL demands encryption."""
    server_name: str = field(default="", compare=False)
    """The name in its certificate, where that is not the host."""
    user: str = field(default="", repr=False, compare=False)
    """The user in the URL, or a token where there is no password."""
    password: str | None = field(default=None, repr=False, compare=False)

    @override
    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'tls' if self.tls else 'nats'}://{host}:{self.port}"


def parse(url: str) -> Address:
    """Read `nats://host:port`, `tls://…`, `host:port` or `host`; a user and password may stand before the host."""
    text = url.strip()
    if is_ip(text) and ":" in text:
        text = f"[{text}]"
    try:
        parts = urlsplit(text if "://" in text else f"nats://{text}")
        return _address(parts)
    except ValueError as problem:
        without_secret = text.rpartition("@")[2]
        raise UsageError(
            f"{without_secret!r} is not the address of a server: {_reason(problem)}.",
            advice="Write nats://host:4222, or tls://host:4222 to insist on encryption.",
        ) from None  # the cause would quote the whole URL, with a password in it


def _address(parts: SplitResult) -> Address:
    if parts.scheme in {"ws", "wss"}:
        raise ValueError("WebSocket is not supported")
    if parts.scheme not in {"nats", "tls"}:
        raise ValueError(f"{parts.scheme} is no scheme of NATS")
    if not parts.hostname:
        raise ValueError("it names no host")
    if any(letter.isspace() for letter in parts.hostname):
        raise ValueError("its host has a space")
    if parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError("something follows the port")
    return Address(
        parts.hostname,
        parts.port or DEFAULT_PORT,
        tls=parts.scheme == "tls",
        user=unquote(parts.username or ""),
        password=None if parts.password is None else unquote(parts.password),
    )


def _reason(problem: ValueError) -> str:
    """Return the reason without what Python quotes of the URL: that might be part of a password."""
    return str(problem).partition(":")[0].partition(" as integer")[0].rstrip(".") or "it is malformed"


def is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before a round, for that many fruitless ones before it: any time up to a bound that doubles."""

    first_seconds: float = 0.1
    most_seconds: float = 5

    def wait_seconds(self, fruitless: int, chance: float) -> float:
        if not fruitless:
            return 0
        doublings = min(fruitless - 1, 62)
        return chance * min(self.most_seconds, self.first_seconds * 2.0**doublings)


class Servers:
    """The servers that are known, and the state of the search for one that takes us."""

    def __init__(self, given: Sequence[Address], backoff: Backoff) -> None:
        if not given:
            raise UsageError("No server was given.", advice="Name at least one, such as nats://127.0.0.1:4222.")
        self._given = list(dict.fromkeys(given))
        self._told: list[Address] = []
        self._last: Address | None = None
        self._backoff = backoff
        self._rounds = 0

    @property
    def known(self) -> list[Address]:
        return [*self._given, *self._told]

    def learn(self, urls: Sequence[str], by: Address) -> None:
        """Take over what a server tells of its cluster; what it tells of no more is forgotten unless it was given."""
        here = {(address.host, address.port) for address in self._given}
        told = [_neighbour(url, by) for url in urls]
        self._told = [address for address in dict.fromkeys(told) if (address.host, address.port) not in here]

    def others(self, than: Address, chance: float) -> list[Address]:
        """Return all but one in the order in which to try them."""
        return _turned([address for address in self.known if address != than], chance)

    def wait_seconds(self, chance: float) -> float:
        """Return how long to wait before the next round."""
        return self._backoff.wait_seconds(self._rounds, chance)

    def next_round(self, chance: float) -> list[Address]:
        """Return all servers in the order in which to try them: that of the last link comes last."""
        self._rounds += 1
        return sorted(_turned(self.known, chance), key=lambda address: address == self._last)

    def lost(self, address: Address, lasted_seconds: float) -> None:
        """Take note that a link has ended. One that did not last counts as an attempt that failed."""
        self._last = address
        if lasted_seconds >= STEADY_SECONDS:
            self._rounds = 0


def _turned(addresses: list[Address], chance: float) -> list[Address]:
    """Return them from some place on: so the clients of a server that is lost spread over the others."""
    start = int(chance * len(addresses))
    return addresses[start:] + addresses[:start]


def _neighbour(url: str, by: Address) -> Address:
    """Return what a server told of; its certificate has the name by which we know the one that told us."""
    address = parse(url)
    name = (by.server_name or by.host) if is_ip(address.host) else ""
    return replace(address, tls=by.tls, server_name=name, user=by.user, password=by.password)
