"""What tests of links share: Connections as in manifests, and what becomes of their links."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock_operator.plan.connections import Connected, Failing
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Place  # noqa: TC001
from penstock_operator.resources.connection import ConnectionSpec
from penstock_operator.services.links import Link, Secrets
from penstock_operator.services.nats.keeping import NatsLinks
from tests.testbed.nats.authentication import Access
from tests.testbed.nats.encryption import Encryption
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually_async

CONNECTION, OTHER = Identity("Connection", "team", "nats"), Identity("Connection", "team", "other")
PASSWORD = "hush"
OLD_AND_NEW = [pytest.param("2.11.17", marks=pytest.mark.full), None]
"""Versions of servers that know different requests; None is the newest."""


def quick_first(values: Sequence[Any]) -> list[Any]:
    """Return values for a parametrized test of which only the first is needed at every edit."""
    first, *others = values
    return [first, *(pytest.param(each, marks=pytest.mark.full) for each in others)]


def spec_of(*servers: str, **fields: Any) -> ConnectionSpec:  # noqa: ANN401 - as in manifests
    return ConnectionSpec.model_validate({"servers": list(servers), **fields})


def a_stream(name: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - the server's own fields
    return {"name": name, "subjects": [f"{name}.>"], "storage": "memory", **fields}


def a_consumer(name: str = "reader", **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - the server's own fields
    return {"durable_name": name, "name": name, "ack_policy": "explicit", **fields}


def login(access: Access) -> tuple[dict[str, Any], Secrets]:
    """Return the fields of a Connection that logs in so, and the Secrets that it names."""
    arguments = access.client.arguments
    match arguments:
        case {"user": user, "password": password}:
            data = {"username": user.encode(), "password": password.encode()}
            return {"auth": {"userPasswordSecretRef": {"name": "login"}}}, {"login": data}
        case {"token": token}:
            return _by_key("tokenSecretRef", token.encode())
        case {"nkeys_seed": file}:
            return _by_key("nkeySecretRef", Path(file).read_bytes())
        case {"user_credentials": file}:
            return _by_key("credentialsSecretRef", Path(file).read_bytes())
        case _:
            return {}, {}


def encryption(encrypted: Encryption) -> tuple[dict[str, Any], Secrets]:
    """Return the fields of a Connection that is encrypted so, and the Secrets that it names."""
    secrets = {"authority": {"ca.crt": encrypted.authority.read_bytes()}}
    tls: dict[str, Any] = {"caSecretRef": {"name": "authority", "key": "ca.crt"}}
    if files := encrypted.client_certificate:
        tls["clientCertificateSecretRef"] = {"name": "certificate"}
        secrets["certificate"] = {"tls.crt": files.certificate.read_bytes(), "tls.key": files.key.read_bytes()}
    if encrypted.handshake_first:
        tls["handshakeFirst"] = True
    return {"tls": tls}, secrets


def _by_key(field: str, value: bytes) -> tuple[dict[str, Any], Secrets]:
    return {"auth": {field: {"name": "login", "key": "it"}}}, {"login": {"it": value}}


class Kept:
    """The links of a test, and the changes that they reported."""

    def __init__(self, links: NatsLinks) -> None:
        self.links = links
        self.told: list[Identity | Place] = []

    def keep(
        self,
        spec: ConnectionSpec,
        secrets: Mapping[str, Any] | None = None,
        *,
        of: Identity = CONNECTION,
        is_needed: bool = False,
    ) -> None:
        self.links.keep(of, spec, secrets or {}, is_needed=is_needed)

    def keep_as(self, user: str, *urls: str, of: Identity = CONNECTION, **fields: Any) -> None:  # noqa: ANN401
        """Keep a link as this user, who has the password of all users here."""
        secrets = {"login": {"username": user.encode(), "password": PASSWORD.encode()}}
        self.keep(spec_of(*urls, auth={"userPasswordSecretRef": {"name": "login"}}, **fields), secrets, of=of)

    async def link_to(self, server: NatsServer, *, of: Identity = CONNECTION, **fields: Any) -> Link:  # noqa: ANN401
        """Return a link to a server that needs no login."""
        self.keep(spec_of(server.url, **fields), of=of)
        return await self.connected(of)

    async def connected(self, of: Identity = CONNECTION) -> Link:
        await self.until(lambda: isinstance(self.links.state(of), Connected), f"{of} is connected")
        link = self.links.link(of)
        assert link is not None
        return link

    def state(self, of: Identity = CONNECTION) -> Connected:
        state = self.links.state(of)
        assert isinstance(state, Connected)
        return state

    async def failing(self, of: Identity = CONNECTION) -> Failing:
        await self.until(lambda: isinstance(self.links.state(of), Failing), f"{of} fails")
        state = self.links.state(of)
        assert isinstance(state, Failing)
        return state

    async def failing_with(self, reason: Reason) -> Failing:
        """Wait for this failure after another."""
        await self.until(
            lambda: getattr(self.links.state(CONNECTION), "reason", None) is reason, f"fails with {reason}"
        )
        return await self.failing()

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        def holds() -> bool:
            assert condition(), f"the state is {self.links.state(CONNECTION)}, reported were {self.told}"
            return True

        await eventually_async(holds, what, not_yet=(AssertionError,))

    async def listen(self) -> None:
        async for each in self.links.changes():
            self.told.append(each)


@asynccontextmanager
async def keeping() -> AsyncIterator[Kept]:
    async with NatsLinks("penstock tests") as links:
        kept = Kept(links)
        listener = asyncio.create_task(kept.listen())
        try:
            yield kept
        finally:
            listener.cancel()
            await asyncio.wait([listener])
