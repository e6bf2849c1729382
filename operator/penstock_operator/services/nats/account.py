"""What is behind a link: which JetStream it is, what its servers can do, what the account may.

Knows what to ask for it, and what to make of it when a server will not say. Does not keep links (session.py).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock_jetstream import Connection, JetStream
from penstock_jetstream.config import Facts
from penstock_jetstream.errors import JetStreamError
from penstock_operator.services.nats.material import Material

USER_INFO = "$SYS.REQ.USER.INFO"
USER_INFO_SECONDS = 2
"""The server that we are connected to answers this itself, at once, or never."""


@dataclass(frozen=True, slots=True)
class Account:
    """One look at it."""

    names: str
    """What servers call it: equal for links that lead to the same JetStream, and perhaps for others."""
    domain: str
    config_facts: Facts
    """What a configuration is judged by."""
    status_facts: Mapping[str, Any]
    """What the status of the Connection shows."""
    alone: str = ""
    """The server that holds everything, where there is no other."""
    identity: str = ""
    """Equal for links that lead to the same JetStream, and for no others, as far as can be told."""


async def look(connection: Connection, jetstream: JetStream, material: Material) -> Account:
    """Ask; raise what the server refuses about JetStream itself."""
    info = await jetstream.account()
    server, name, domain = connection.server, await _account_name(connection), info.domain or ""
    known = Facts(
        api_level=info.api_level,
        clustered=bool(server.cluster) if material.is_own_jetstream else None,
        max_bytes_required=info.requires_max_bytes,
        max_ack_pending=_limit((info.raw.get("limits") or {}).get("max_ack_pending")),
    )
    shown = {
        "serverName": server.name,
        "serverVersion": server.version,
        "apiLevel": info.api_level,
        "cluster": server.cluster or None,
        "domain": domain or None,
        "account": name or material.account or None,
        "streams": info.streams,
        "consumers": info.consumers,
    }
    facts = {fact: value for fact, value in shown.items() if value is not None}
    alone = server.name if known.clustered is False else ""
    account = name or material.account or f"user {material.user}"
    where = server.cluster or f"server {server.name}"
    names = f"{account}/{where}/{domain}/{material.api_prefix}"
    return Account(names, domain, known, facts, alone)


async def _account_name(connection: Connection) -> str:
    """Return what the server calls the account that we are in; nothing where it does not say.

    Servers since 2.12 say it of their own accord, older ones if the user may ask.
    """
    told = connection.server.facts.get("remote_account")
    if isinstance(told, str):
        return told
    try:
        reply = await connection.request(USER_INFO, timeout_seconds=USER_INFO_SECONDS)
        told = json.loads(reply.payload)["data"]["account"]
    except (JetStreamError, ValueError, KeyError, TypeError):
        return ""  # it may not be asked, or is a server of another making: the user is known anyway
    return told if isinstance(told, str) else ""


def _limit(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
