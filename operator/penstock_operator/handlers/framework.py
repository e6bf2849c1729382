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

from penstock_operator.handlers import connections
from penstock_operator.services.vitals import Vitals
from penstock_operator.storage.access import bearer_token, find_access

FIRST_BACKOFFS_SECONDS = (1.0, 1.0, 2.0, 3.0)
BACKOFF_SECONDS = 5.0
REQUEST_SECONDS = 30.0
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


async def start(namespaces: Sequence[str], vitals: Vitals, stop: asyncio.Event) -> Running:
    """Start kopf; the event ends it."""
    others = asyncio.all_tasks()
    tasks = await kopf.spawn_tasks(
        registry=_registry(vitals),
        settings=_settings(),
        namespaces=namespaces,
        clusterwide=not namespaces,
        standalone=True,
        identity=IDENTITY,
        stop_flag=stop,
    )
    vitals.watching()
    return Running(tasks, others)


async def finish(running: Running) -> None:
    """Wait for kopf's end. It ends by itself only when something is broken."""
    await kopf.run_tasks(running.tasks, ignored=running.others)


def _registry(vitals: Vitals) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(_login)
    connections.register(registry, vitals)
    return registry


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
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
