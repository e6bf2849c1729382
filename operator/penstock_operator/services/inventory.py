"""Reads all streams and consumers that there are in a JetStream account. Asks; changes nothing.

Knows the requests. Does not know what the streams are for. Called by `penstock import`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock_jetstream import Connection, Credentials, JetStream
from penstock_jetstream.errors import JetStreamError
from penstock_operator.plan.importing import Found

CLIENT_NAME = "penstock import"


class InventoryError(Exception):
    """The server cannot be asked, or would not say; the text says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Which account is meant, and who we are there."""

    servers: Sequence[str]
    credentials: Path | None = None
    domain: str | None = None


async def read_inventory(account: Account) -> list[Found]:
    """Return every stream with its consumers, in the order of their names."""
    auth = Credentials(account.credentials) if account.credentials else None
    try:
        async with Connection(account.servers, auth=auth, name=CLIENT_NAME) as connection:
            js = JetStream(connection, domain=account.domain)
            streams = [info.config async for info in js.streams.list()]
            found = [
                Found(config, [consumer.config async for consumer in js.consumers.list(str(config["name"]))])
                for config in streams
            ]
    except JetStreamError as problem:
        raise InventoryError(str(problem)) from problem
    return sorted(found, key=lambda stream: stream.name)
