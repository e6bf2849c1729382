"""The operator's process from start to SIGTERM: probes first, then lists and, once those succeed, the watches.

Knows the order of things, and how they end. Does not know what any of them does. Called by the command line.
"""

import asyncio
import logging
import signal
import time
from collections.abc import Sequence

from penstock_operator.handlers import framework
from penstock_operator.services import probes, rounds
from penstock_operator.services.address import Address
from penstock_operator.services.probes import CannotServeError
from penstock_operator.services.vitals import Vitals
from penstock_operator.storage.access import NoAccessError

END_SECONDS = 1.0
"""How long the watches may take to end by themselves."""

START_AGAIN_SECONDS = 1.0
"""How long an API server that has just started is given to name all that it serves."""

logger = logging.getLogger(__name__)


class OperatorError(Exception):
    """The operator cannot start, or cannot go on; the text is for people."""


async def run(namespaces: Sequence[str], address: Address) -> None:
    """Run the operator until SIGTERM or Ctrl-C."""
    stop = asyncio.Event()
    _stop_on_signals(stop)
    logger.info("The operator serves %s.", ", ".join(namespaces) or "all namespaces")
    try:
        await _serve(namespaces, address, stop)
    except (CannotServeError, NoAccessError) as problem:
        raise OperatorError(str(problem)) from problem
    except Exception as problem:
        logger.exception("The operator cannot go on.")
        raise OperatorError(f"The operator cannot go on: {type(problem).__name__}: {problem}") from problem
    logger.info("The operator has stopped.")


async def _serve(namespaces: Sequence[str], address: Address, stop: asyncio.Event) -> None:
    vitals, can_list, end = Vitals(time.monotonic), asyncio.Event(), asyncio.Event()
    listing = asyncio.create_task(rounds.go_round(namespaces, vitals, can_list))
    watching = asyncio.create_task(_watch(namespaces, vitals, can_list, end, stop))
    try:
        # The probes are closed before the watches: kopf waits for tasks that it does not know, such as open requests.
        async with probes.serving(address, vitals, time.monotonic):
            await _first_of(asyncio.create_task(stop.wait()), listing, watching)
            vitals.stopping()
    finally:
        end.set()
        listing.cancel()
        _, unfinished = await asyncio.wait({listing, watching}, timeout=END_SECONDS)
        for task in unfinished:  # kopf would wait for what it has begun, even for an API server that is away
            task.cancel()
        await asyncio.wait({listing, watching})
    for task in (listing, watching):
        if not task.cancelled():
            task.result()
    if not stop.is_set():
        raise RuntimeError("kopf has ended, though nobody asked it to")


async def _watch(
    namespaces: Sequence[str], vitals: Vitals, can_list: asyncio.Event, end: asyncio.Event, stop: asyncio.Event
) -> None:
    """Start the watches when there is something to watch: kopf looks for kinds only once."""
    await _first_of(asyncio.create_task(can_list.wait()), asyncio.create_task(end.wait()))
    while not end.is_set():
        running = await framework.start(namespaces, vitals, end)
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
