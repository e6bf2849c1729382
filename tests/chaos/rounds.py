"""Rounds of chaos: messages, a fault, and the account once the server has nothing left."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock_worker.policy.machine.ending import EXIT_CODE_STOPPED
from tests.chaos.accounting import Account
from tests.chaos.faults import MOMENTS, Fault
from tests.chaos.place import Draft, Place
from tests.chaos.worker import Worker

STOP_SECONDS = 180
BACKLOG_FAULTS = 4
"""Messages are published for this many faults ahead."""
POISON = Draft(b"poison")
"""A message that cannot be processed."""


@dataclass(frozen=True)
class Round:
    """The result of one, and how long it took."""

    fault: str
    when: str
    account: Account
    seconds: float = 0
    struck: tuple[str, ...] = ()
    """The faults with their moments, if there were several."""

    @property
    def faults(self) -> int:
        return len(self.struck) or 1

    @property
    def held(self) -> bool:
        return not (self.account.lost or self.account.problems)

    def with_dead(self, expected: int) -> "Round":
        """Return it, failed if it has another number of dead letters."""
        dead = self.account.dead
        return self if dead == expected else self.failed(f"{dead} dead letters, not {expected}")

    def failed(self, problem: str) -> "Round":
        return replace(self, account=replace(self.account, problems=(*self.account.problems, problem)))


Play = Callable[[Place, random.Random], Awaitable[Round]]


def struck(fault: Fault, messages: int) -> Play:
    """Have one fault while messages are processed."""

    async def play(place: Place, chance: random.Random) -> Round:
        first = place.published + 1
        await place.publish(messages)
        worker = await _moment_of(fault, place, messages, chance)
        await fault.blow(place, worker)
        place.site.heal()
        await place.drained()
        return Round(fault.name, fault.when, await place.account(first)).with_dead(0)

    return play


def struck_often(name: str, faults: Sequence[Fault], times: int, messages: int, *, poison_share: float = 0) -> Play:
    """Have one fault after the other, each once more messages were published, while those before are processed.

    `poison_share` is how likely one of these messages cannot be processed.
    """

    async def play(place: Place, chance: random.Random) -> Round:
        first, poisoned, struck = place.published + 1, 0, []
        for _ in range(times):
            await place.drained(BACKLOG_FAULTS * messages)
            others = {chance.randint(1, messages): POISON} if chance.random() < poison_share else {}
            poisoned += len(others)
            await place.publish(messages, others)
            fault = chance.choice(faults)
            struck.append(f"{fault.name}, {fault.when}")
            worker = await _moment_of(fault, place, messages, chance)
            await fault.blow(place, worker)
            place.site.heal()
        await place.drained()
        return Round(name, "", await place.account(first), struck=tuple(struck)).with_dead(poisoned)

    return play


async def _moment_of(fault: Fault, place: Place, messages: int, chance: random.Random) -> Worker:
    """Wait for the fault's moment; if all is processed before it comes, publish more messages until it does."""
    moment = asyncio.ensure_future(MOMENTS[fault.when](place, chance))
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
    """Publish messages of which some are others; those have to become dead letters if `is_dead`, and no more."""
    others = others or {}
    expected = len(others) if is_dead else 0

    async def play(place: Place, _chance: random.Random) -> Round:
        return Round(name, when, await _published_and_drained(place, messages, others)).with_dead(expected)

    return play


async def _published_and_drained(place: Place, messages: int, others: Mapping[int, Draft]) -> Account:
    first = place.published + 1
    await place.publish(messages, others)
    await place.drained()
    return await place.account(first)


def stopped(name: str, when: str, words: str, messages: int) -> Play:
    """Publish messages for code that can process none: the engine stops, and the messages stay."""

    async def play(place: Place, _chance: random.Random) -> Round:
        first = place.published + 1
        (worker,) = place.workers
        worker.leave()
        await place.publish(messages)
        code = await asyncio.to_thread(worker.engine.wait_ended, STOP_SECONDS)
        account = await place.account(first)
        found = Round(name, when, account)
        if code != EXIT_CODE_STOPPED or words not in worker.engine.log_tail(1):
            found = found.failed(f"the engine ends with {code}, and its last line does not have {words}")
        if account.dead or account.left != messages:
            found = found.failed(f"{account.dead} dead letters, {account.left} left of {messages}")
        return found

    return play


def faithful(name: str, drafts: Mapping[int, Draft]) -> Play:
    """Publish messages of all kinds, which the sink has to have unchanged."""

    async def play(place: Place, _chance: random.Random) -> Round:
        found = Round(name, "", await _published_and_drained(place, len(drafts), drafts))
        contents = await asyncio.to_thread(place.sinks.contents)
        for number, draft in drafts.items():
            headers = {key: [value] if isinstance(value, str) else value for key, value in draft.headers.items()}
            if contents.get(number) != (draft.data, headers):
                found = found.failed(f"message {number} was {(draft.data, headers)}, and is {contents.get(number)}")
        return found

    return play
