"""Rounds of chaos: messages, what befalls them, and the account once the server has nothing left."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from penstock_worker.policy.machine.ending import EXIT_CODE_STOPPED
from tests.chaos.accounting import Account
from tests.chaos.faults import Fault
from tests.chaos.place import Draft, Place
from tests.chaos.worker import Worker
from tests.testbed.programs import Program

STOP_SECONDS = 180


@dataclass(frozen=True)
class Round:
    """What came of one."""

    fault: str
    when: str
    account: Account
    seconds: float

    @property
    def held(self) -> bool:
        return not (self.account.lost or self.account.problems)


Play = Callable[[Place, random.Random], Awaitable[Round]]


def struck(fault: Fault, messages: int) -> Play:
    """Have one fault while messages are worked on."""

    async def round_of(place: Place, chance: random.Random) -> Round:
        first, began = place.published + 1, time.monotonic()
        await place.publish(messages)
        worker = await _moment_of(fault, place, messages, chance)
        await fault.blow(place, worker)
        place.site.heal()
        await place.drained()
        return Round(fault.name, fault.when, await place.account(first), time.monotonic() - began)

    return round_of


async def _moment_of(fault: Fault, place: Place, messages: int, chance: random.Random) -> Worker:
    """Wait for the fault's moment; if all is done before it comes, have more messages until it does."""
    moment = asyncio.ensure_future(fault.moment(place, chance))
    while not moment.done():
        drained = asyncio.ensure_future(place.drained())
        await asyncio.wait({moment, drained}, return_when=asyncio.FIRST_COMPLETED)
        if not moment.done():
            await drained
            await place.publish(messages)
        drained.cancel()
    return moment.result()


def fed(
    name: str, when: str, messages: int, others: Mapping[int, Draft] | None = None, *, is_dead: bool = True
) -> Play:
    """Have messages of which some are others; those have to become dead letters, and no more, if so told."""
    others = others or {}

    async def round_of(place: Place, _chance: random.Random) -> Round:
        first, began = place.published + 1, time.monotonic()
        await place.publish(messages, others)
        await place.drained()
        account = await place.account(first)
        wanted = len(others) if is_dead else 0
        if account.dead != wanted:
            account = _wrong(account, f"{account.dead} dead letters, and not {wanted}")
        return Round(name, when, account, time.monotonic() - began)

    return round_of


def stopped(name: str, when: str, words: str, messages: int) -> Play:
    """Have messages that the code cannot process, whichever they are: the engine stops, and they stay."""

    async def round_of(place: Place, _chance: random.Random) -> Round:
        first, began = place.published + 1, time.monotonic()
        (worker,) = place.workers
        worker.leave()
        await place.publish(messages)
        code = await asyncio.to_thread(worker.engine.wait_ended, STOP_SECONDS)
        account = await place.account(first)
        if code != EXIT_CODE_STOPPED or not _said(worker.engine, words):
            account = _wrong(account, f"the engine ends with {code}, and does not say {words}")
        if account.dead or account.left != messages:
            account = _wrong(account, f"{account.dead} dead letters, {account.left} left of {messages}")
        return Round(name, when, account, time.monotonic() - began)

    return round_of


def _said(engine: Program, words: str) -> bool:
    return words in engine.log_tail(1)


def faithful(name: str, drafts: Mapping[int, Draft]) -> Play:
    """Have messages of all kinds, which the sink has to have as they were."""

    async def round_of(place: Place, _chance: random.Random) -> Round:
        first, began = place.published + 1, time.monotonic()
        await place.publish(len(drafts), drafts)
        await place.drained()
        account = await place.account(first)
        wanted = {number: (draft.data, _lists(draft.headers)) for number, draft in drafts.items()}
        found = await asyncio.to_thread(place.sinks.contents)
        for number, message in wanted.items():
            if message != found.get(number):
                account = _wrong(account, f"message {number} was {message}, and is {found.get(number)}")
        return Round(name, "", account, time.monotonic() - began)

    return round_of


def _lists(headers: Mapping[str, object]) -> Mapping[str, object]:
    return {name: [values] if isinstance(values, str) else values for name, values in headers.items()}


def _wrong(account: Account, problem: str) -> Account:
    return replace(account, problems=(*account.problems, problem))
