"""What tests of links share: Connections as manifests have them, and waiting for what becomes of their links."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from penstock_operator.plan.connections import Connected, Failing
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.surroundings import Place  # noqa: TC001
from penstock_operator.resources.connection import ConnectionSpec
from penstock_operator.services.links import Link, Secrets
from penstock_operator.services.nats.keeping import NatsLinks
from tests.testbed.nats.authentication import Access
from tests.testbed.nats.encryption import Encryption
from tests.testbed.nats.server import NatsServer

PATIENCE_SECONDS = 60
CONNECTION = Identity("Connection", "team", "nats")


def spec_of(*servers: str, **fields: Any) -> ConnectionSpec:  # noqa: ANN401 - as manifests have them
    return ConnectionSpec.model_validate({"servers": list(servers), **fields})


def login(access: Access) -> tuple[dict[str, Any], Secrets]:
    """Return what a Connection says to log in so, and the Secrets that it names."""
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
    """Return what a Connection says to be encrypted so, and the Secrets that it names."""
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
    """The links of a test, and what has been told of them."""

    def __init__(self, links: NatsLinks) -> None:
        self.links = links
        self.told: list[Identity | Place] = []
        self._more = asyncio.Event()

    def keep(
        self,
        spec: ConnectionSpec,
        secrets: Mapping[str, Any] | None = None,
        *,
        of: Identity = CONNECTION,
        is_needed: bool = False,
    ) -> None:
        self.links.keep(of, spec, secrets or {}, is_needed=is_needed)

    async def connected(self, of: Identity = CONNECTION) -> Link:
        await self.until(lambda: isinstance(self.links.state(of), Connected))
        link = self.links.link(of)
        assert link is not None
        return link

    async def failing(self, of: Identity = CONNECTION) -> Failing:
        await self.until(lambda: isinstance(self.links.state(of), Failing))
        state = self.links.state(of)
        assert isinstance(state, Failing)
        return state

    async def until(self, condition: Callable[[], bool], what: str = "") -> None:
        """Wait for something that is told when it changes."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not condition():
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError as problem:
            raise TimeoutError(
                f"{what}; the state is {self.links.state(CONNECTION)}, told was {self.told}"
            ) from problem

    async def listen(self) -> None:
        async for each in self.links.changes():
            self.told.append(each)
            self._more.set()


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


@asynccontextmanager
async def linked(server: NatsServer, **fields: Any) -> AsyncIterator[Link]:  # noqa: ANN401 - as above
    """Have a link to a server that lets everyone in."""
    async with keeping() as kept:
        kept.keep(spec_of(server.url, **fields))
        yield await kept.connected()
