"""An operator that is killed between any two steps of a create, an update or a delete leaves nothing that stays undone.

The reconciler runs against a real API server and a real NATS server, and dies before or after its n-th write to either,
for every n. Then another one starts, which knows nothing of the first.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import pytest
from kubernetes.aio.client import ApiClient
from typing_extensions import override

from penstock_operator.plan.decision import Action, Failure, Note
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.surroundings import Place, Present
from penstock_operator.services.filling import fill
from penstock_operator.services.leading import Leadership
from penstock_operator.services.links import Link, RelayedLink
from penstock_operator.services.nats.keeping import NatsLinks
from penstock_operator.services.reconciler import Reconciler
from penstock_operator.storage.access import find_access
from penstock_operator.storage.kubernetes_home import KubernetesHome
from tests.operator.scene import manifest
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually_async

MOST_STEPS = 40
FEWEST_STEPS = 6  # a finalizer, a stream and a status, each with a before and an after
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

    def __init__(self, api: ApiClient, namespace: Namespace, server: NatsServer) -> None:
        self._api = api
        self._namespace = namespace
        self._client = namespace.client
        self._server = server
        self._client.create(manifest("Connection", "nats", {"servers": [server.url]}))

    def declare_orders(self) -> None:
        management = {"deletion": "Delete"}
        spec = {"connectionRef": {"name": "nats"}, "subjects": ["orders"], "management": management}
        self._client.create(manifest("Stream", "orders", spec))

    def change_orders(self) -> None:
        self._client.patch("stream/orders", {"spec": {"maxAge": "1h"}})

    def delete_orders(self) -> None:
        self._client.begin_deletion("stream/orders")

    async def live(self, steps: int, has_ended: Callable[[], bool]) -> bool:
        """Let an operator live until it has reached the goal or is killed, and return whether it was killed."""
        fuse = Fuse(steps)
        async with MortalLinks(fuse) as links:
            reconciler = Reconciler(MortalHome(self._api, fuse), links, Leadership.alone(), time.monotonic)
            await fill(self._api, [self._namespace.name], reconciler)
            life = asyncio.create_task(reconciler.run())
            await eventually_async(lambda: life.done() or has_ended(), "the goal is reached, or the operator is killed")
            life.cancel()
            await asyncio.wait({life})
            return not life.cancelled() and isinstance(life.exception(), BaseExceptionGroup)

    def stream(self) -> dict[str, Any] | None:
        """Return the configuration that the server has."""
        accounts = self._server.monitored("jsz?streams=true&config=true").get("account_details", [])
        configs = [stream["config"] for account in accounts for stream in account.get("stream_detail", [])]
        return next((config for config in configs if config["name"] == "orders"), None)

    def is_made(self) -> bool:
        shown = self._client.get("stream/orders")
        is_ready = any(
            said["type"] == "Ready"
            and said["status"] == "True"
            and said["observedGeneration"] == shown["metadata"]["generation"]
            for said in shown.get("status", {}).get("conditions", [])
        )
        return is_ready and self.stream() is not None

    def is_changed(self) -> bool:
        return self.is_made() and (self.stream() or {}).get("max_age") == HOUR

    def is_gone(self) -> bool:
        return self._client.find("stream/orders") is None


@pytest.fixture
async def stage(
    penstock_namespace: Namespace, nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Stage]:
    monkeypatch.setenv("KUBECONFIG", str(penstock_namespace.kubeconfig))
    async with ApiClient(await find_access()) as api:
        yield Stage(api, penstock_namespace, nats_server)


@pytest.mark.full
async def test_operator_killed_at_every_step_from_creation_to_deletion_is_replaced(stage: Stage) -> None:
    """One round for each step: the first operator dies there, and the next one finishes the work."""
    deaths = 0
    for steps in range(1, MOST_STEPS):
        died = False
        for wanted, goal in (
            (stage.declare_orders, stage.is_made),
            (stage.change_orders, stage.is_changed),
            (stage.delete_orders, stage.is_gone),
        ):
            wanted()
            killed = await stage.live(steps, goal)
            died |= killed
            if killed:
                await stage.live(0, goal)
            assert goal(), f"killed at step {steps}"
        assert stage.stream() is None, f"killed at step {steps}: the stream is left behind"
        deaths += died
        if not died:
            break
    assert deaths > FEWEST_STEPS
