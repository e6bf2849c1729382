"""Killed between any two steps of a create, an update or a delete, the operator ends where it would have ended.

The reconciler runs here against the real API server and the real NATS server, and dies before or after its n-th write
to either, for every n that there is. Then another begins, which knows nothing of the first.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest
from kubernetes.aio.client import ApiClient
from typing_extensions import override

from penstock_operator.constants import API_VERSION
from penstock_operator.plan.decision import Action, Failure, Note
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.surroundings import Place, Present
from penstock_operator.services.filling import fill
from penstock_operator.services.leading import Leadership
from penstock_operator.services.links import Link, RelayedLink
from penstock_operator.services.nats.keeping import NatsLinks
from penstock_operator.services.reconciler import Reconciler
from penstock_operator.storage import paths
from penstock_operator.storage.access import find_access
from penstock_operator.storage.api import MERGE_PATCH, ask
from penstock_operator.storage.errors import RefusedError
from penstock_operator.storage.kubernetes_home import KubernetesHome
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.client import connection
from tests.testbed.nats.server import NatsServer

LIFE_SECONDS = 60
LOOK_SECONDS = 0.02
MOST_STEPS = 40
FEWEST_STEPS = 6  # a finalizer, a stream and a status, each with a before and an after
NOT_FOUND = 404
HOUR = 3600 * 10**9


class KilledError(BaseException):
    """Nothing of the operator runs after this; no `except Exception` holds it up."""


class Fuse:
    """Burns down by one before each write and by one after it; at the end it kills."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def burn(self) -> None:
        self.steps -= 1
        if self.steps == 0:
            raise KilledError


class MortalHome(KubernetesHome):
    def __init__(self, client: ApiClient, fuse: Fuse) -> None:
        super().__init__(client)
        self._fuse = fuse

    @override
    async def write_status(self, declared: Declared, status: Mapping[str, Any]) -> Mapping[str, Any]:
        self._fuse.burn()
        answer = await super().write_status(declared, status)
        self._fuse.burn()
        return answer

    @override
    async def write_finalizers(self, declared: Declared, finalizers: Sequence[str]) -> Mapping[str, Any]:
        self._fuse.burn()
        answer = await super().write_finalizers(declared, finalizers)
        self._fuse.burn()
        return answer

    @override
    async def tell(self, declared: Declared, note: Note) -> None:
        self._fuse.burn()
        await super().tell(declared, note)


class MortalLink(RelayedLink):
    def __init__(self, link: Link, fuse: Fuse) -> None:
        super().__init__(link)
        self._fuse = fuse

    @override
    async def carry_out(self, place: Place, action: Action) -> Present | Failure | None:
        self._fuse.burn()
        outcome = await super().carry_out(place, action)
        self._fuse.burn()
        return outcome


class MortalLinks(NatsLinks):
    def __init__(self, fuse: Fuse) -> None:
        super().__init__("a short life")
        self._fuse = fuse

    @override
    def link(self, connection: Identity) -> Link | None:
        link = super().link(connection)
        return MortalLink(link, self._fuse) if link else None


class Stage:
    """A namespace and a server, and lives of an operator there."""

    def __init__(self, client: ApiClient, namespace: str, server: NatsServer) -> None:
        self._client = client
        self._namespace = namespace
        self._server = server
        self.orders = Identity("Stream", namespace, "orders")

    async def declare(self, identity: Identity, spec: Mapping[str, Any]) -> None:
        manifest = {
            "apiVersion": API_VERSION,
            "kind": identity.kind,
            "metadata": {"name": identity.name},
            "spec": spec,
        }
        path = paths.of_object(identity).removesuffix(f"/{identity.name}")
        await ask(self._client, "POST", path, manifest)

    async def connect(self) -> None:
        await self.declare(Identity("Connection", self._namespace, "nats"), {"servers": [self._server.url]})

    async def declare_orders(self) -> None:
        management = {"deletion": "Delete"}
        spec = {"connectionRef": {"name": "nats"}, "subjects": ["orders"], "management": management}
        await self.declare(self.orders, spec)

    async def change_orders(self) -> None:
        path = paths.of_object(self.orders)
        await ask(self._client, "PATCH", path, {"spec": {"maxAge": "1h"}}, content_type=MERGE_PATCH)

    async def delete_orders(self) -> None:
        await ask(self._client, "DELETE", paths.of_object(self.orders))

    async def live(self, steps: int, ended: "Goal") -> bool:
        """Let an operator live until it has reached the goal, or is killed; tell whether it was."""
        fuse = Fuse(steps)
        async with MortalLinks(fuse) as links:
            reconciler = Reconciler(MortalHome(self._client, fuse), links, Leadership.alone(), time.monotonic)
            await fill(self._client, [self._namespace], reconciler)
            life = asyncio.create_task(reconciler.run())
            async with asyncio.timeout(LIFE_SECONDS):
                while not life.done() and not await ended(self):
                    await asyncio.wait({life}, timeout=LOOK_SECONDS)
            life.cancel()
            await asyncio.wait({life})
            return was_killed(life)

    async def shown(self) -> dict[str, Any] | None:
        try:
            shown: dict[str, Any] = await ask(self._client, "GET", paths.of_object(self.orders))
        except RefusedError as refusal:
            if refusal.code == NOT_FOUND:
                return None
            raise
        return shown

    async def is_ready(self) -> bool:
        shown = await self.shown() or {}
        generation = shown.get("metadata", {}).get("generation")
        return any(
            said["type"] == "Ready" and said["status"] == "True" and said["observedGeneration"] == generation
            for said in shown.get("status", {}).get("conditions", [])
        )

    async def stream(self) -> dict[str, Any] | None:
        async with connection(**self._server.connect_arguments()) as client:
            answer = json.loads((await client.request("$JS.API.STREAM.INFO.orders", b"", timeout=LIFE_SECONDS)).data)
        config: dict[str, Any] | None = answer.get("config")
        return config


Goal = Callable[[Stage], Awaitable[bool]]


def was_killed(life: asyncio.Task[None]) -> bool:
    return not life.cancelled() and isinstance(life.exception(), BaseExceptionGroup)


@pytest.fixture
async def stage(
    penstock_namespace: Namespace, nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Stage]:
    monkeypatch.setenv("KUBECONFIG", str(penstock_namespace.kubeconfig))
    async with ApiClient(await find_access()) as client:
        stage = Stage(client, penstock_namespace.name, nats_server)
        await stage.connect()
        yield stage


async def is_made(stage: Stage) -> bool:
    return await stage.is_ready() and await stage.stream() is not None


async def is_changed(stage: Stage) -> bool:
    return await stage.is_ready() and (await stage.stream() or {}).get("max_age") == HOUR


async def is_gone(stage: Stage) -> bool:
    return await stage.shown() is None


async def test_killed_at_every_step_of_a_life_from_creation_to_deletion(stage: Stage) -> None:
    """One round for each step: the first operator dies there, the next one finishes what is wanted at that time."""
    deaths = 0
    for steps in range(1, MOST_STEPS):
        died = False
        for wanted, goal in (
            (stage.declare_orders, is_made),
            (stage.change_orders, is_changed),
            (stage.delete_orders, is_gone),
        ):
            await wanted()
            killed = await stage.live(steps, goal)
            died |= killed
            if killed:
                await stage.live(0, goal)
            assert await goal(stage), f"killed at step {steps}"
        assert await stage.stream() is None, f"killed at step {steps}: the stream is left behind"
        deaths += died
        if not died:
            break
    assert deaths > FEWEST_STEPS
