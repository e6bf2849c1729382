"""What a server says of itself, what we say of ourselves, and what its refusals mean.

Knows INFO, CONNECT and the sentences of `-ERR`. Does not know how any of it travels, or where secrets come from.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from penstock_jetstream.core.servers import parse
from penstock_jetstream.errors import AuthenticationError, LinkError, ProtocolError, UsageError

_KINDS: dict[str, tuple[str, type]] = {
    "id": ("server_id", str),
    "name": ("server_name", str),
    "version": ("version", str),
    "max_payload_bytes": ("max_payload", int),
    "headers": ("headers", bool),
    "jetstream": ("jetstream", bool),
    "domain": ("domain", str),
    "cluster": ("cluster", str),
    "client_id": ("client_id", int),
    "client_ip": ("client_ip", str),
    "nonce": ("nonce", str),
    "auth_required": ("auth_required", bool),
    "tls_required": ("tls_required", bool),
    "tls_available": ("tls_available", bool),
    "tls_verify": ("tls_verify", bool),
    "lame_duck": ("ldm", bool),
}
"""Each field of ServerInfo: what INFO calls it, and its type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """What the server that we are connected to says of itself. What it left out is empty, zero or False."""

    id: str = ""
    name: str = ""
    version: str = ""
    max_payload_bytes: int = 1 << 20
    headers: bool = False
    jetstream: bool = False
    domain: str = ""
    cluster: str = ""
    client_id: int = 0
    client_ip: str = ""
    nonce: str = field(default="", repr=False)
    auth_required: bool = False
    tls_required: bool = False
    tls_available: bool = False
    tls_verify: bool = False
    """It wants a certificate of its clients."""
    lame_duck: bool = False
    connect_urls: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """All that it said, as it said it."""

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        known: dict[str, Any] = {}
        for name, (key, kind) in _KINDS.items():
            if (value := facts.get(key)) is not None:
                if type(value) is not kind:
                    raise ProtocolError(f"The server's INFO has {value!r:.80} for {key}, which is no {kind.__name__}.")
                known[name] = value
        return cls(**known, connect_urls=_addresses(facts.get("connect_urls") or ()), facts=facts)


def _addresses(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ProtocolError(f"The server's INFO has {value!r:.80} for connect_urls, which is no list of strings.")
    try:
        for url in value:
            parse(url)
    except UsageError as problem:
        raise ProtocolError(f"The server's INFO tells of other servers. {problem.sentence}") from problem
    return tuple(value)


def connect_options(name: str, version: str, proof: Mapping[str, str], *, encrypted: bool) -> dict[str, Any]:
    """Return what CONNECT says: who we are (proof: the fields that identify us), and what we want to hear."""
    return {
        "verbose": False,
        "pedantic": False,
        "echo": True,
        "headers": True,
        "no_responders": True,
        "protocol": 1,  # we understand INFO at any time
        "tls_required": encrypted,
        "lang": "python",
        "name": name,
        "version": version,
        **proof,
    }


_AUTHENTICATION = re.compile(r"auth(entication|orization)|account.*expired|credentials", re.IGNORECASE)
_FULL = re.compile(r"maximum.*connections", re.IGNORECASE)
_DENIED = re.compile(r'permissions violation for (publish|subscription) to "([^"]*)"', re.IGNORECASE)


def refusal_error(server: str, text: str) -> LinkError:
    """Return what a refused connection attempt, or a link that the server ended with these words, amounts to."""
    sentence = f"{server} refused the connection: {text}."
    if _AUTHENTICATION.search(text):
        return AuthenticationError(
            sentence, advice="Check that the server knows this user, and that what identifies it has not expired."
        )
    if _FULL.search(text):
        return LinkError(sentence, advice="Raise its max_connections, or close connections that nobody needs.")
    return LinkError(sentence)


def is_permission(text: str) -> bool:
    """Tell whether a refusal concerns one subject only, and the link goes on."""
    return _DENIED.search(text) is not None


def denied_publish(text: str) -> str | None:
    """Return the subject that we may not publish to, if that is what the server says."""
    return _denied(text, "publish")


def denied_subscription(text: str) -> str | None:
    """Return the subject that we may not subscribe to, if that is what the server says."""
    return _denied(text, "subscription")


def _denied(text: str, what: str) -> str | None:
    found = _DENIED.search(text)
    return found[2] if found and found[1].lower() == what else None
