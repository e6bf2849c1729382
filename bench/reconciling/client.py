"""The one who declares: creates objects as fast as it can, several requests at once, and watches them become Ready.

Knows the Kubernetes API over HTTP; it is the same client for every contender. Does not know what operators do.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
from kubernetes.aio import config
from kubernetes.aio.client import Configuration

from bench.reconciling.contender import Contender

IN_PARALLEL = 8
STALLED_SECONDS = 60
"""So long nothing becomes Ready only if something is broken."""

LINE_BYTES = 2**20
KINDS = ("Stream", "Consumer")


class StalledError(Exception):
    """Not everything became Ready."""


class Client:
    """A user of the API server who declares to one contender."""

    def __init__(self, session: aiohttp.ClientSession, contender: Contender) -> None:
        self._session = session
        self._contender = contender
        self._ready: set[tuple[str, str]] = set()
        self._last: dict[tuple[str, str], str] = {}
        self._changed = asyncio.Event()

    async def declare(self, names: Sequence[str]) -> None:
        """Create a stream of each name, and then a consumer of each name."""
        for kind in KINDS:
            waiting = iter(names)
            async with asyncio.TaskGroup() as group:
                for _ in range(IN_PARALLEL):
                    group.create_task(self._create_each(kind, waiting))

    async def _create_each(self, kind: str, waiting: Iterator[str]) -> None:
        path, headers = self._contender.path(kind), {"Content-Type": "application/json"}
        for name in waiting:
            body = self._contender.manifest(kind, name)
            async with self._session.post(path, data=body, headers=headers) as answer:
                if answer.status != HTTPStatus.CREATED:
                    raise RuntimeError(f"{kind} {name} was refused: {await answer.text()}")

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Keep up with what is Ready while the block runs; a watch that fails ends the block."""
        async with asyncio.TaskGroup() as group:
            watches = [group.create_task(self._watch(kind, await self._version(kind))) for kind in KINDS]
            yield
            for watch in watches:
                watch.cancel()

    async def all_ready(self, names: Sequence[str]) -> None:
        """Wait until all of these are Ready."""
        wanted = {(kind, name) for kind in KINDS for name in names}
        while missing := wanted - self._ready:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), STALLED_SECONDS)
            except TimeoutError:
                one = min(missing)
                raise StalledError(
                    f"{self._contender.title}: {len(missing)} of {len(wanted)} objects are not Ready, and none has"
                    f" become so for {STALLED_SECONDS} s. {' '.join(one)} says: {self._last.get(one, 'nothing')}"
                ) from None

    async def _version(self, kind: str) -> str:
        async with self._session.get(self._contender.path(kind), params={"limit": "1"}) as answer:
            version: str = (await answer.json())["metadata"]["resourceVersion"]
            return version

    async def _watch(self, kind: str, version: str) -> None:
        """Watch for ever, going on where the API server ended a watch, as it does with a client that is too slow."""
        while True:
            query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "3600"}
            async with self._session.get(self._contender.path(kind), params=query) as answer:
                async for line in answer.content:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise RuntimeError(f"The watch of {kind}s broke off: {event['object']}")
                    version = event["object"]["metadata"]["resourceVersion"]
                    self._note(kind, event["object"])

    def _note(self, kind: str, shown: dict[str, Any]) -> None:
        key = (kind, shown["metadata"]["name"])
        conditions = shown.get("status", {}).get("conditions", [])
        ready = next((condition for condition in conditions if condition["type"] == "Ready"), None)
        if ready is None:
            return
        self._last[key] = json.dumps(ready)
        if ready["status"] == "True" and key not in self._ready:
            self._ready.add(key)
            self._changed.set()


@asynccontextmanager
async def client(kubeconfig: Path, contender: Contender) -> AsyncIterator[Client]:
    access = Configuration()
    await config.load_kube_config(str(kubeconfig), client_configuration=access)  # type: ignore[no-untyped-call]
    trust = ssl.create_default_context(cafile=access.ssl_ca_cert)
    trust.load_cert_chain(str(access.cert_file), access.key_file)
    connector = aiohttp.TCPConnector(ssl=trust, limit=IN_PARALLEL + len(KINDS))
    endless = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        access.host, connector=connector, timeout=endless, read_bufsize=LINE_BYTES
    ) as session:
        yield Client(session, contender)
