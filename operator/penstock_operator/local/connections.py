"""The Connections of a local home: embedded servers are run, and all that is asked of any goes over a contact.

Level-based: `settle` compares what is declared with what runs. Knows which server a Connection means on this machine.
Does not know what is asked.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock_operator.local.children import Guard
from penstock_operator.local.contact import Contact
from penstock_operator.local.live_home import LiveHome
from penstock_operator.local.manifests import Manifests
from penstock_operator.local.servers import EmbeddedServer
from penstock_operator.local.snapshot import Level
from penstock_operator.local.state import ConnectionRecord, StateFolder
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.resources import ConnectionSpec
from penstock_operator.resources.connection import LocalServer
from penstock_operator.services.home import HomeError
from penstock_operator.services.nats.material import MaterialError, material, secret_names

CONTACT_NAME = "penstock up"
"""What servers show as the client's name."""

Tell = Callable[[Level, str, str], None]


@dataclass(frozen=True, slots=True)
class Place:
    """Where embedded servers have their data, and who ends them if we are killed."""

    state: StateFolder
    guard: Guard
    port: int | None = None
    """Theirs, whatever Connections say."""


@dataclass(slots=True)
class _Served:
    server: EmbeddedServer
    port: int
    keeping: asyncio.Task[None]


@dataclass(slots=True)
class _Contacted:
    contact: Contact
    keeping: asyncio.Task[None]


class Connections:
    """All of them. Used within the task group that its tasks belong to."""

    def __init__(self, place: Place, home: LiveHome, tasks: asyncio.TaskGroup, tell: Tell) -> None:
        self._place, self._home, self._tasks, self._tell = place, home, tasks, tell
        self._served: dict[Identity, _Served] = {}
        self._urls: dict[Identity, str] = {}
        """Of each embedded server that there was: where it is told to be does not change as everything ends."""
        self._contacted: dict[Identity, _Contacted] = {}

    async def serve(self, declared: Mapping[Identity, Declared]) -> None:
        """Have an embedded server for each Connection that says so, and no others, or raise an EmbeddedNatsError."""
        wanted = {identity: spec for identity, spec in _specs(declared) if is_embedded(spec)}
        for identity, served in list(self._served.items()):
            if identity not in wanted or self._port(wanted[identity]) != served.port:
                await self._stop(identity)
        for identity, spec in wanted.items():
            if identity not in self._served:
                await self._start(identity, spec)

    async def contact(self, declared: Mapping[Identity, Declared]) -> None:
        """Have a contact for each Connection, as it is declared now."""
        specs = dict(_specs(declared))
        for identity in [each for each in self._contacted if each not in specs]:
            self._contacted.pop(identity).keeping.cancel()
        for identity, spec in specs.items():
            await self._contact(identity, self.effective(identity, spec))

    def effective(self, identity: Identity, spec: ConnectionSpec) -> ConnectionSpec:
        """Return what a Connection means here: of an embedded server nothing but where it is."""
        if not is_embedded(spec):
            return spec
        url = self._urls.get(identity)
        servers = [url] if url else list(spec.servers)
        return spec.model_copy(update={"servers": servers, "auth": None, "tls": None, "jet_stream": None})

    def contact_of(self, identity: Identity) -> Contact | None:
        found = self._contacted.get(identity)
        return found.contact if found else None

    def as_reached(self, manifests: Manifests) -> Manifests:
        """Return manifests whose Connections lead where they lead from here."""
        declared, contents = dict(manifests.declared), dict(manifests.contents)
        for identity, spec in _specs(manifests.declared):
            reached = self.effective(identity, spec)
            if reached is not spec:
                written = reached.model_dump(mode="json", by_alias=True, exclude_none=True)
                content: dict[str, Any] = {**contents[identity], "spec": written}
                contents[identity] = content
        return Manifests(
            declared,
            contents,
            manifests.places,
            manifests.secrets,
            manifests.config_maps,
            manifests.namespaces,
            manifests.skipped,
        )

    def records(self, declared: Mapping[Identity, Declared]) -> tuple[ConnectionRecord, ...]:
        return tuple(
            ConnectionRecord(
                namespace=identity.namespace,
                name=identity.name,
                servers=tuple(self.effective(identity, spec).servers),
                embedded=is_embedded(spec),
            )
            for identity, spec in _specs(declared)
        )

    def servers(self) -> Iterator[tuple[Identity, EmbeddedServer]]:
        for identity, served in self._served.items():
            yield identity, served.server

    async def end(self) -> None:
        """Close all contacts, then end all servers."""
        for contacted in self._contacted.values():
            contacted.keeping.cancel()
        for identity in list(self._served):
            await self._stop(identity)

    def kill(self) -> None:
        for served in self._served.values():
            served.server.kill()

    async def _start(self, identity: Identity, spec: ConnectionSpec) -> None:
        folder, port = self._place.state.nats(identity.namespace, identity.name), self._port(spec)
        hear = partial(self._tell, Level.WARNING, str(identity))
        server = EmbeddedServer(str(identity), folder, port, self._place.guard, hear)
        self._urls[identity] = await server.start()
        self._served[identity] = _Served(server, port, self._tasks.create_task(server.keep()))

    def _port(self, spec: ConnectionSpec) -> int:
        return spec.local.port if self._place.port is None else self._place.port

    async def _stop(self, identity: Identity) -> None:
        served = self._served.pop(identity)
        await served.server.end()
        with suppress(asyncio.CancelledError):
            await served.keeping

    async def _contact(self, identity: Identity, spec: ConnectionSpec) -> None:
        try:
            secrets = {name: await self._home.secret(identity.namespace, name) for name in secret_names(spec)}
            made_from = material(identity.namespace, spec, secrets)
        except (HomeError, MaterialError):  # the reconciler says what is wrong, and to whom
            return
        before = self._contacted.get(identity)
        if before is not None and before.contact.made_from.digest == made_from.digest:
            return
        if before is not None:
            before.keeping.cancel()
        contact = Contact.of(made_from, f"{CONTACT_NAME} {identity.namespace}/{identity.name}")
        self._contacted[identity] = _Contacted(contact, self._tasks.create_task(contact.keep()))


def is_embedded(spec: ConnectionSpec) -> bool:
    return spec.local.server is LocalServer.EMBEDDED


def _specs(declared: Mapping[Identity, Declared]) -> Iterator[tuple[Identity, ConnectionSpec]]:
    for identity, each in declared.items():
        if isinstance(each.spec, ConnectionSpec):
            yield identity, each.spec
