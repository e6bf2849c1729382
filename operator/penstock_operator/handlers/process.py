"""The operator's process from start to SIGTERM: probes first, then lists and, once those succeed, the watches.

Knows the order of things, and how they end. Does not know what any of them does. Called by the command line.
"""

import asyncio
import logging
import signal
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial

from kubernetes.aio.client import ApiClient

from penstock_operator.handlers import framework
from penstock_operator.plan.lease import Terms
from penstock_operator.plan.workload import Equipment
from penstock_operator.resources import QUEUE_GROUP
from penstock_operator.services import probes, rounds
from penstock_operator.services.address import Address
from penstock_operator.services.counting import CountedLinks
from penstock_operator.services.election import Election
from penstock_operator.services.filling import fill, recount
from penstock_operator.services.metrics import Metrics
from penstock_operator.services.nats.keeping import NatsLinks
from penstock_operator.services.probes import CannotServeError
from penstock_operator.services.reconciler import STEPS, Reconciler
from penstock_operator.services.replica import Alone, replica
from penstock_operator.services.vitals import Vitals
from penstock_operator.services.workforce.workforce import Workforce
from penstock_operator.storage.access import NoAccessError, find_access
from penstock_operator.storage.children import Children
from penstock_operator.storage.client import Client
from penstock_operator.storage.kubernetes_home import KubernetesHome

END_SECONDS = 1.0
"""How long the watches may take to end by themselves."""

START_AGAIN_SECONDS = 1.0
"""How long an API server that has just started is given to name all that it serves."""

CONNECTION_NAME = "penstock operator"
"""What NATS servers show of us in their lists of connections."""

logger = logging.getLogger(__name__)


class OperatorError(Exception):
    """The operator cannot start, or cannot go on; the text is for people."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line says."""

    namespaces: Sequence[str]
    """Empty for all."""
    address: Address
    """Where probes and metrics are served."""
    period_seconds: float
    equipment: Equipment
    lease: tuple[str, str] | None = None
    """Its namespace and name; without one, the operator acts as if it were alone."""
    terms: Terms = field(default_factory=Terms)


async def run(options: Options) -> None:
    """Run the operator until SIGTERM or Ctrl-C."""
    stop = asyncio.Event()
    _stop_on_signals(stop)
    logger.info("The operator serves %s.", ", ".join(options.namespaces) or "all namespaces")
    try:
        await _serve(options, stop)
    except (CannotServeError, NoAccessError) as problem:
        raise OperatorError(str(problem)) from problem
    except Exception as problem:
        logger.exception("The operator cannot go on.")
        raise OperatorError(f"The operator cannot go on: {type(problem).__name__}: {problem}") from problem
    logger.info("The operator has stopped.")


async def _serve(options: Options, stop: asyncio.Event) -> None:
    vitals, metrics, end = Vitals(time.monotonic), Metrics(), asyncio.Event()
    async with (
        AsyncExitStack() as watches,
        Client(await find_access(), metrics.asked_kubernetes) as client,
        NatsLinks(CONNECTION_NAME) as links,
    ):
        among = replica(client, options.lease, options.terms, vitals)
        workforce = Workforce(
            Children(client), options.equipment, time.monotonic, period_seconds=options.period_seconds
        )
        reconciler = Reconciler(
            KubernetesHome(client),
            CountedLinks(links, metrics),
            among.leadership,
            time.monotonic,
            period_seconds=options.period_seconds,
            metrics=metrics,
            steps={**STEPS, QUEUE_GROUP.name: workforce.look_after},
        )
        vitals.ask_for_work(lambda: reconciler.oldest_work)
        vitals.ask_for_obstacle(lambda: workforce.obstacle)
        metrics.watch(reconciler, among.leadership, time.monotonic)
        can_list, filled, namespaces = asyncio.Event(), asyncio.Event(), options.namespaces
        listing = asyncio.create_task(rounds.go_round(namespaces, vitals, can_list))
        reconciling = partial(_reconcile, namespaces, client, reconciler, workforce)
        working = asyncio.create_task(reconciling(can_list=can_list, filled=filled))
        watching = asyncio.create_task(_watch(namespaces, vitals, reconciler, filled=filled, end=end, stop=stop))
        standing = asyncio.create_task(_stand(among, vitals))
        # All else is closed before the watches: kopf waits for tasks that it does not know, such as open requests.
        watches.push_async_callback(_end_watching, watching, end)
        try:
            async with probes.serving(options.address, vitals, metrics, time.monotonic):
                await _first_of(asyncio.create_task(stop.wait()), listing, working, watching, standing)
                vitals.stopping()
        finally:
            await _cancel(standing)
            await among.release()  # which lets what has been begun come to its end
            await _cancel(listing, working)
    for task in (listing, working, watching, standing):
        if not task.cancelled():
            task.result()
    if not stop.is_set():
        raise RuntimeError("kopf has ended, though nobody asked it to")


async def _stand(among: Election | Alone, vitals: Vitals) -> None:
    """Stand for the lead once everything is watched: who leads can act at once then."""
    await vitals.watched()
    await among.stand()


async def _end_watching(watching: asyncio.Task[None], end: asyncio.Event) -> None:
    """Let the watches end by themselves, if they can: kopf waits for all that it has begun, also without an answer."""
    end.set()
    await asyncio.wait({watching}, timeout=END_SECONDS)
    await _cancel(watching)


async def _cancel(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def _reconcile(
    namespaces: Sequence[str],
    client: ApiClient,
    reconciler: Reconciler,
    workforce: Workforce,
    *,
    can_list: asyncio.Event,
    filled: asyncio.Event,
) -> None:
    """Know all that is declared before anything is done about it; then keep it so."""
    await can_list.wait()
    await fill(client, namespaces, reconciler)
    filled.set()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(reconciler.run())
        tasks.create_task(recount(client, namespaces, reconciler))
        tasks.create_task(workforce.run(reconciler.shop, namespaces))


async def _watch(
    namespaces: Sequence[str],
    vitals: Vitals,
    reconciler: Reconciler,
    *,
    filled: asyncio.Event,
    end: asyncio.Event,
    stop: asyncio.Event,
) -> None:
    """Start the watches when there is something to watch: kopf looks for kinds only once."""
    await _first_of(asyncio.create_task(filled.wait()), asyncio.create_task(end.wait()))
    while not end.is_set():
        running = await framework.start(namespaces, vitals, reconciler, end)
        _stop_on_signals(stop)  # kopf has just put its own handlers in their place
        if await running.watches_everything():
            vitals.watching()
            await framework.finish(running)
            return
        await running.abandon()
        await asyncio.sleep(START_AGAIN_SECONDS)


async def _first_of(*tasks: asyncio.Task[object]) -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
