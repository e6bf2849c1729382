"""What the reconciler knows without a watch: from the answers to its own writes, and from recounts."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from kubernetes.aio.client import ApiClient
from typing_extensions import override

from penstock_operator.constants import API_VERSION
from penstock_operator.plan.declared import Declared
from penstock_operator.resources.management import ABANDON_ANNOTATION, FINALIZER
from penstock_operator.services.filling import fill, take_out_vanished
from penstock_operator.services.leading import Leadership
from penstock_operator.services.nats.keeping import NatsLinks
from penstock_operator.services.reconciler import Reconciler
from penstock_operator.storage.access import find_access
from penstock_operator.storage.kubernetes_home import KubernetesHome
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.waiting import eventually_async

UNREACHABLE = "nats://127.0.0.1:1"
ABANDON = {ABANDON_ANNOTATION: "true"}


class InterruptedHome(KubernetesHome):
    """Calls `interrupt` once, just before the first status of a Stream is written."""

    def __init__(self, client: ApiClient, interrupt: Callable[[], None]) -> None:
        super().__init__(client)
        self._interrupt: Callable[[], None] | None = interrupt

    @override
    async def write_status(self, declared: Declared, status: Mapping[str, Any]) -> Mapping[str, Any]:
        if declared.identity.kind == "Stream" and self._interrupt:
            interrupt, self._interrupt = self._interrupt, None
            interrupt()
        return await super().write_status(declared, status)


@pytest.fixture
async def client(penstock_namespace: Namespace, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ApiClient]:
    monkeypatch.setenv("KUBECONFIG", str(penstock_namespace.kubeconfig))
    async with ApiClient(await find_access()) as client:
        yield client


def create(namespace: Namespace, kind: str, name: str, spec: Mapping[str, Any]) -> None:
    """Create an object that has our finalizer, as if its server had been reachable before."""
    metadata = {"name": name, "finalizers": [FINALIZER]}
    namespace.client.create({"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": dict(spec)})


@pytest.fixture
def deleting(penstock_namespace: Namespace) -> Namespace:
    """A Connection and a Stream that are being deleted, and whose server is away."""
    create(penstock_namespace, "Connection", "nats", {"servers": [UNREACHABLE]})
    declared = {"connectionRef": {"name": "nats"}, "subjects": ["orders"], "management": {"deletion": "Delete"}}
    create(penstock_namespace, "Stream", "orders", declared)
    for what in ("connection/nats", "stream/orders"):
        penstock_namespace.client.begin_deletion(what)
    return penstock_namespace


@asynccontextmanager
async def unwatched(client: ApiClient, home: KubernetesHome, namespace: Namespace) -> AsyncIterator[Reconciler]:
    """Run a reconciler that knows what is there when it starts, and sees no event after that."""
    async with NatsLinks("a test") as links:
        reconciler = Reconciler(home, links, Leadership.alone(), time.monotonic)
        await fill(client, [namespace.name], reconciler)
        running = asyncio.create_task(reconciler.run())
        try:
            yield reconciler
        finally:
            running.cancel()
            await asyncio.wait({running})


async def test_connection_goes_when_no_event_says_that_its_last_stream_is_gone(
    client: ApiClient, deleting: Namespace
) -> None:
    deleting.client.annotate("stream/orders", ABANDON)
    async with unwatched(client, KubernetesHome(client), deleting):
        await eventually_async(lambda: deleting.client.find("stream/orders") is None, "the Stream is gone")
        await eventually_async(lambda: deleting.client.find("connection/nats") is None, "the Connection is gone")


async def test_annotation_set_just_before_a_status_is_written_is_acted_on(
    client: ApiClient, deleting: Namespace
) -> None:
    home = InterruptedHome(client, lambda: deleting.client.annotate("stream/orders", ABANDON))
    async with unwatched(client, home, deleting):
        await eventually_async(lambda: deleting.client.find("stream/orders") is None, "the Stream is gone")


async def test_connection_goes_when_a_recount_finds_that_its_last_stream_is_gone(
    client: ApiClient, deleting: Namespace
) -> None:
    async with unwatched(client, KubernetesHome(client), deleting) as reconciler:
        deleting.client.patch("stream/orders", {"metadata": {"finalizers": None}})
        assert deleting.client.find("stream/orders") is None
        await take_out_vanished(client, [deleting.name], reconciler)
        await eventually_async(lambda: deleting.client.find("connection/nats") is None, "the Connection is gone")
