"""An engine from its first breath to its last: connect, look, work, and end as the machine says.

Knows the order of these, and who needs whom. Signals, probes and the micro service are other ways to say the machine's
own words. Decides nothing.
"""

import asyncio
import logging
import secrets
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from prometheus_client import CONTENT_TYPE_LATEST

from penstock_jetstream import JetStream
from penstock_worker.engine.answers import Answers
from penstock_worker.engine.connecting import connection, jetstream
from penstock_worker.engine.driver_link import DriverLink
from penstock_worker.engine.errands import Errands
from penstock_worker.engine.ground import Ground, look
from penstock_worker.engine.intake import Intake
from penstock_worker.engine.ledger_store import LedgerStore
from penstock_worker.engine.letters import Desk
from penstock_worker.engine.metrics import Metrics
from penstock_worker.engine.orders import orders
from penstock_worker.engine.prerequisites import Prerequisites
from penstock_worker.engine.reports import Reporter
from penstock_worker.engine.service import Service
from penstock_worker.engine.shelf import Shelf
from penstock_worker.engine.shell import Shell
from penstock_worker.engine.standing import Standing
from penstock_worker.exchange.client import DriverClient
from penstock_worker.policy.machine import events
from penstock_worker.policy.machine.actions import Stop
from penstock_worker.policy.machine.machine import Machine
from penstock_worker.policy.settings import EngineSettings, WorkerSettings
from penstock_worker.probes import Judgement, Pages, Text, serving

SERVICE_ID_BYTES = 11

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Place:
    """What an engine is made of."""

    settings: EngineSettings
    jetstream: JetStream
    ground: Ground
    client: DriverClient
    ledger: LedgerStore | None


async def run(settings: WorkerSettings) -> Stop:
    """Work until the machine says that it is over, and return what it said."""
    engine = settings.engine
    name = f"penstock-engine {engine.group} {engine.worker}"
    async with connection(settings.connection, name) as link:
        js = jetstream(settings.connection, link)
        ground = await look(js, engine)
        for warning in ground.warnings:
            logger.warning("%s", warning)
        ledger = LedgerStore(js, engine.stream, engine.consumer, ground.life) if engine.ledger else None
        client = DriverClient(settings.socket)
        return await _work(_Place(replace(engine, batch=ground.batch), js, ground, client, ledger))


async def _work(place: _Place) -> Stop:
    async with asyncio.TaskGroup() as tasks:
        shell = _shell(place, tasks)
        try:
            async with _reachable(shell):
                shell.begin()
                if place.settings.drain:
                    shell.tell(events.Drain())
                stop = await shell.ended()
                standing = shell.errands.standing
                done = {"account": standing.done()}
                logger.info("Batches run: %d.", standing.verdicts.total(), extra={"facts": done})
                return stop
        finally:
            shell.end()


def _shell(place: _Place, tasks: asyncio.TaskGroup) -> Shell:
    """Put an engine together."""
    settings, js = place.settings, place.jetstream
    consumer = js.consumer(settings.stream, settings.consumer)
    machine = Machine(
        settings,
        ack_wait_seconds=place.ground.ack_wait_seconds,
        life=place.ground.life,
        entry_bytes=js.connection.server.max_payload_bytes,
    )
    metrics = Metrics(settings.group, settings.worker)
    shelf = Shelf()
    standing = Standing(settings, lambda: shelf.unanswered)
    shell = Shell(machine, js.connection, place.ground, tasks, Reporter(standing, metrics))
    shell.errands = Errands(
        jetstream=js,
        settings=settings,
        shelf=shelf,
        answers=Answers(js.connection),
        driver=DriverLink(place.client, shell.tell, shell.spawn, standing),
        desk=Desk(
            settings.stream,
            settings.consumer,
            settings.group,
            settings.worker,
            settings.dead_letter_subject,
            place.ground.life,
        ),
        metrics=metrics,
        standing=standing,
        tell=shell.tell,
        ledger=place.ledger,
        prerequisites=Prerequisites(js, settings, standing),
    )
    shell.intake = Intake(
        consumer, place.ground, shell.take, shell.consumer_gone, lambda: js.connection.server.max_payload_bytes
    )
    metrics.watch(standing, shelf)
    return shell


@asynccontextmanager
async def _reachable(shell: Shell) -> AsyncIterator[None]:
    """Hear signals, probes and requests while the block runs."""
    settings, standing = shell.errands.settings, shell.reporter.standing
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, shell.tell, events.Terminate(settings.grace_seconds))
    service = Service(
        shell.connection,
        settings.group,
        settings.worker,
        orders(standing, shell.tell),
        id=secrets.token_hex(SERVICE_ID_BYTES),
        facts={"stream": settings.stream, "consumer": settings.consumer},
    )
    service.start()
    if settings.probes is None:
        yield
        return
    metrics = shell.errands.metrics
    pages: Pages = {
        "/healthz": lambda: Judgement(holds=True, sentence="Alive."),
        "/readyz": standing.ready,
        "/metrics": lambda: Text(CONTENT_TYPE_LATEST, metrics.shown()),
    }
    async with serving(settings.probes, pages):
        yield
