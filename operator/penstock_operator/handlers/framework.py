"""kopf, set up to do what we want of it and nothing else: to watch, for ever, and to call our handlers.

No peering, no finalizers, no annotations, no events, no looking for namespaces and CRDs (which would need more rights
than the operator has; it starts kopf once they are there). Knows kopf's settings and tasks. Called by process.py.
"""

import asyncio
import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import kopf
from kopf._cogs.structs.references import Insights  # spawn_tasks takes it, and nothing public makes it

from penstock_operator.handlers import objects
from penstock_operator.handlers.essence import NoEssence
from penstock_operator.resources import KINDS
from penstock_operator.services.reconciler import Reconciler
from penstock_operator.services.vitals import Vitals
from penstock_operator.storage.access import bearer_token, find_access
from penstock_operator.storage.pages import PAGE_OBJECTS

FIRST_BACKOFFS_SECONDS = (1.0, 1.0, 2.0, 3.0)
BACKOFF_SECONDS = 5.0
REQUEST_SECONDS = 30.0
IDLE_SECONDS = 0.5
"""How long kopf's task for an object waits for its next event: events are handed on at once, and tasks cost memory."""
CONNECT_SECONDS = 5.0


IDENTITY: Any = "penstock"
"""Who we would be among peers. kopf would ask for the name of the user that we run as, who may have none."""


class Backoffs:
    """How long to wait before asking the API server again: without an end, as its absence is no fault of ours."""

    def __iter__(self) -> Iterator[float]:
        return itertools.chain(FIRST_BACKOFFS_SECONDS, itertools.repeat(BACKOFF_SECONDS))


@dataclass(frozen=True)
class Running:
    """kopf's tasks, and those that were there before."""

    tasks: Collection[asyncio.Task[Any]]
    others: Collection[asyncio.Task[Any]]
    insights: Insights

    async def watches_everything(self) -> bool:
        """Wait until kopf has looked which kinds there are, and tell whether it found ours.

        It looks once, and an API server that has just started may not name them yet, though it lists them.
        """
        looked = asyncio.create_task(self.insights.ready_resources.wait())
        await asyncio.wait({looked, *self.tasks}, return_when=asyncio.FIRST_COMPLETED)
        looked.cancel()
        found = {resource.plural for resource in self.insights.watched_resources}
        return any(task.done() for task in self.tasks) or found >= {kind.plural for kind in KINDS}

    async def abandon(self) -> None:
        """End kopf at once, to start it again."""
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)


async def start(namespaces: Sequence[str], vitals: Vitals, reconciler: Reconciler, stop: asyncio.Event) -> Running:
    """Start kopf; the event ends it."""
    others, insights = asyncio.all_tasks(), Insights()
    tasks = await kopf.spawn_tasks(
        registry=_registry(vitals, reconciler),
        settings=_settings(),
        namespaces=namespaces,
        clusterwide=not namespaces,
        standalone=True,
        identity=IDENTITY,
        stop_flag=stop,
        insights=insights,
    )
    return Running(tasks, others, insights)


async def finish(running: Running) -> None:
    """Wait for kopf's end. It ends by itself only when something is broken."""
    await kopf.run_tasks(running.tasks, ignored=running.others)


def _registry(vitals: Vitals, reconciler: Reconciler) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(_login)
    objects.register(registry, vitals, reconciler)
    return registry


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.persistence.diffbase_storage = NoEssence()
    settings.process.ultimate_exiting_timeout = None  # it would kill the process long after one abandoned start
    settings.scanning.disabled = True
    settings.watching.chunk_size = PAGE_OBJECTS
    settings.queueing.idle_timeout = IDLE_SECONDS
    settings.networking.error_backoffs = Backoffs()
    settings.networking.request_timeout = REQUEST_SECONDS
    settings.networking.connect_timeout = CONNECT_SECONDS
    return settings


async def _login(**_: object) -> kopf.ConnectionInfo:
    access = await find_access()
    token = bearer_token(access)
    return kopf.ConnectionInfo(
        server=access.host,
        ca_path=access.ssl_ca_cert,
        insecure=not access.verify_ssl,
        scheme="Bearer" if token else None,
        token=token,
        certificate_path=access.cert_file,
        private_key_path=access.key_file,
        proxy_url=access.proxy,
    )
