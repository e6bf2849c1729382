"""A reconciler without watches is killed before or after each of its writes; the next one finishes the work."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import pytest
from kubernetes.aio.client import ApiClient
from typing_extensions import override

from penstock_operator.plan.decision import Action, Failure, Note
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.surroundings import Place, Present
from penstock_operator.resources.management import FINALIZER
from penstock_operator.services.filling import fill, take_out_vanished
from penstock_operator.services.leading import Leadership
from penstock_operator.services.links import Link, RelayedLink
from penstock_operator.services.nats.keeping import NatsLinks
from penstock_operator.services.reading import PERIOD_SECONDS
from penstock_operator.services.reconciler import Reconciler
from penstock_operator.storage.access import find_access
from penstock_operator.storage.kubernetes_home import KubernetesHome
from tests.operator.scene import ABANDON, Scene, manifest
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually_async

MOST_STEPS = 40
FEWEST_STEPS = 6  # a finalizer, a stream and a status, each with a before and an after
HOUR = 3600 * 10**9
ORDERS: dict[str, Any] = {"subjects": ["orders"], "management": {"deletion": "Delete"}}


@pytest.fixture
async def api(penstock_namespace: Namespace, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ApiClient]:
    monkeypatch.setenv("KUBECONFIG", str(penstock_namespace.kubeconfig))
    async with ApiClient(await find_access()) as api:
        yield api


@asynccontextmanager
async def running(
    api: ApiClient, home: KubernetesHome, links: NatsLinks, namespace: Namespace, period_seconds: float = PERIOD_SECONDS
) -> AsyncIterator[tuple[Reconciler, asyncio.Task[None]]]:
    """Run a reconciler that knows the objects that exist when it starts, and sees no event after that."""
    async with links:
        reconciler = Reconciler(home, links, Leadership.alone(), time.monotonic, period_seconds=period_seconds)
        await fill(api, [namespace.name], reconciler)
        task = asyncio.create_task(reconciler.run())
        try:
            yield reconciler, task
        finally:
            task.cancel()
            await asyncio.wait({task})


class KilledError(BaseException):
    """Nothing of the operator runs after this: no `except Exception` catches it."""


class Killer:
    """Counts a step before each write and one after it; kills the operator at the last step."""

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def step(self) -> None:
        self._steps -= 1
        if self._steps == 0:
            raise KilledError

    @contextmanager
    def around_write(self) -> Iterator[None]:
        self.step()
        yield
        self.step()


class KillableHome(KubernetesHome):
    def __init__(self, api: ApiClient, killer: Killer) -> None:
        super().__init__(api)
        self._killer = killer

    @override
    async def write_status(self, declared: Declared, status: Mapping[str, Any]) -> Mapping[str, Any]:
        with self._killer.around_write():
            return await super().write_status(declared, status)

    @override
    async def write_finalizers(self, declared: Declared, finalizers: Sequence[str]) -> Mapping[str, Any]:
        with self._killer.around_write():
            return await super().write_finalizers(declared, finalizers)

    @override
    async def tell(self, declared: Declared, note: Note) -> None:
        self._killer.step()
        await super().tell(declared, note)


class KillableLink(RelayedLink):
    def __init__(self, link: Link, killer: Killer) -> None:
        super().__init__(link)
        self._killer = killer

    @override
    async def carry_out(self, place: Place, action: Action) -> Present | Failure | None:
        with self._killer.around_write():
            return await super().carry_out(place, action)


class KillableLinks(NatsLinks):
    def __init__(self, killer: Killer) -> None:
        super().__init__("a killed operator")
        self._killer = killer

    @override
    def link(self, connection: Identity) -> Link | None:
        link = super().link(connection)
        return KillableLink(link, self._killer) if link else None


async def reconcile(api: ApiClient, namespace: Namespace, goal: Callable[[], bool], kill_at: int = 0) -> bool:
    """Run an operator until it has reached the goal or is killed, and return whether it was killed."""
    killer = Killer(kill_at)
    async with running(api, KillableHome(api, killer), KillableLinks(killer), namespace) as (_, task):
        await eventually_async(lambda: task.done() or goal(), "the goal is reached, or the operator is killed")
    return not task.cancelled() and isinstance(task.exception(), BaseExceptionGroup)


def is_created(scene: Scene) -> bool:
    return scene.conditions("stream/orders").get("Ready", {}).get("status") == "True" and scene.stream() is not None


@pytest.mark.full
async def test_operator_killed_at_every_step_from_creation_to_deletion_is_replaced(
    api: ApiClient, penstock_namespace: Namespace, nats_server: NatsServer
) -> None:
    """One round for each step: the first operator is killed there, and the next one finishes the work."""
    scene = Scene(penstock_namespace, nats_server)
    scene.connect()
    changes = (
        (partial(scene.declare_stream, **ORDERS), lambda: is_created(scene)),
        (
            partial(scene.declare_stream, **ORDERS, maxAge="1h"),
            lambda: is_created(scene) and scene.config()["max_age"] == HOUR,
        ),
        (partial(scene.delete, "stream/orders", wait=False), lambda: not scene.exists("stream/orders")),
    )
    rounds_with_a_kill = 0
    for step in range(1, MOST_STEPS):
        killed = False
        for change, goal in changes:
            change()
            if await reconcile(api, penstock_namespace, goal, kill_at=step):
                killed = True
                await reconcile(api, penstock_namespace, goal)
            assert goal(), f"killed at step {step}"
        assert scene.stream() is None, f"killed at step {step}: the stream is left behind"
        rounds_with_a_kill += killed
        if not killed:
            break
    assert rounds_with_a_kill > FEWEST_STEPS


class InterruptedHome(KubernetesHome):
    """Calls `interrupt` once, just before the first status of a Stream is written."""

    def __init__(self, api: ApiClient, interrupt: Callable[[], None]) -> None:
        super().__init__(api)
        self._interrupt: Callable[[], None] | None = interrupt

    @override
    async def write_status(self, declared: Declared, status: Mapping[str, Any]) -> Mapping[str, Any]:
        if declared.identity.kind == "Stream" and self._interrupt:
            interrupt, self._interrupt = self._interrupt, None
            interrupt()
        return await super().write_status(declared, status)


@pytest.fixture
def deleting(penstock_namespace: Namespace) -> Namespace:
    """A Connection and a Stream that are being deleted and have our finalizer, with an unreachable server."""
    connection = {"servers": ["nats://127.0.0.1:1"]}
    stream = {"connectionRef": {"name": "nats"}, **ORDERS}
    penstock_namespace.client.create(
        manifest("Connection", "nats", connection, finalizers=[FINALIZER]),
        manifest("Stream", "orders", stream, finalizers=[FINALIZER]),
    )
    for what in ("connection/nats", "stream/orders"):
        penstock_namespace.client.begin_deletion(what)
    return penstock_namespace


async def wait_gone(namespace: Namespace, what: str) -> None:
    await eventually_async(lambda: namespace.client.find(what) is None, f"{what} is gone")


def abandon_stream(namespace: Namespace) -> None:
    namespace.client.annotate("stream/orders", {ABANDON: "true"})


async def test_connection_goes_with_its_last_stream_without_an_event(api: ApiClient, deleting: Namespace) -> None:
    abandon_stream(deleting)
    async with running(api, KubernetesHome(api), NatsLinks("a test"), deleting):
        await wait_gone(deleting, "stream/orders")
        await wait_gone(deleting, "connection/nats")


async def test_annotation_set_just_before_a_status_is_written_is_acted_on(api: ApiClient, deleting: Namespace) -> None:
    home = InterruptedHome(api, partial(abandon_stream, deleting))
    async with running(api, home, NatsLinks("a test"), deleting):
        await wait_gone(deleting, "stream/orders")


async def test_connection_goes_when_a_recount_misses_its_last_stream(api: ApiClient, deleting: Namespace) -> None:
    async with running(api, KubernetesHome(api), NatsLinks("a test"), deleting) as (reconciler, _):
        deleting.client.patch("stream/orders", {"metadata": {"finalizers": None}})
        assert deleting.client.find("stream/orders") is None
        await take_out_vanished(api, [deleting.name], reconciler)
        await wait_gone(deleting, "connection/nats")


async def test_connection_goes_without_an_event_or_a_recount_of_what_blocked_it(
    api: ApiClient, deleting: Namespace
) -> None:
    """Another Stream of the same name, which is not the one that blocked it, does not block it either."""
    async with running(api, KubernetesHome(api), NatsLinks("a test"), deleting, period_seconds=1):
        deleting.client.patch("stream/orders", {"metadata": {"finalizers": None}})
        deleting.client.create(
            manifest("Stream", "orders", {"connectionRef": {"name": "nats"}, "subjects": ["orders"]})
        )
        await wait_gone(deleting, "connection/nats")
