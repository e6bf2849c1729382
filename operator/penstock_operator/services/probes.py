"""Answers probes: /healthz (alive?) and /readyz (ready?), each 200 or 503 with one sentence; and tells /metrics.

Runs on the same event loop as everything else, on purpose: when the loop stalls, no answer comes. Knows HTTP. Does not
judge (plan.health does), nor count (metrics.py does).
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from penstock_operator.plan.health import Facts, Verdict, liveness, readiness
from penstock_operator.services.address import Address
from penstock_operator.services.metrics import Metrics
from penstock_operator.services.vitals import Clock, Vitals

SHUTDOWN_SECONDS = 0.5
"""An answer is one sentence; nobody is kept waiting longer for the end of one."""

logger = logging.getLogger(__name__)


class CannotServeError(Exception):
    """The probes cannot be served at that address."""


@asynccontextmanager
async def serving(address: Address, vitals: Vitals, metrics: Metrics, clock: Clock) -> AsyncIterator[None]:
    """Answer probes and scrapes for as long as the block runs."""
    application = web.Application()
    application.router.add_get("/healthz", _answering(liveness, vitals, clock))
    application.router.add_get("/readyz", _answering(readiness, vitals, clock))
    application.router.add_get("/metrics", _telling(metrics))
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        await _listen(runner, address)
        yield
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, address: Address) -> None:
    try:
        await web.TCPSite(runner, address.host, address.port).start()
    except OSError as problem:
        raise CannotServeError(
            f"The probes cannot be served at {address}: {problem.strerror}.\nhint: choose another --probes HOST:PORT."
        ) from problem
    logger.info("Probes are served at %s", ", ".join(f"{at[0]}:{at[1]}" for at in runner.addresses))


def _answering(
    judge: Callable[[Facts, float], Verdict], vitals: Vitals, clock: Clock
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        verdict = judge(vitals.facts, clock())
        return web.Response(status=200 if verdict.holds else 503, text=f"{verdict.sentence}\n")

    return answer


def _telling(metrics: Metrics) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=metrics.shown(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return answer
