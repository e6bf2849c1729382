"""Plays scenes, one after the other, and prints a table of the results."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace

from bench.harness.report import table
from tests.chaos.accounting import Account
from tests.chaos.place import Place, place
from tests.chaos.rounds import Round
from tests.chaos.scenes import Scene

SUMS = {
    "messages": "messages",
    "lost": "lost",
    "twice by id": "twice_staged",
    "twice appended": "twice_appended",
    "dead letters": "dead",
    "left": "left",
}
"""Columns of the table, and the numbers of an account that they add up."""


async def played(scene: Scene, chance: random.Random) -> AsyncIterator[Round]:
    """Play one scene, and yield each round as it is over."""
    with scene.site() as site:
        async with place(scene.shape, site) as made:
            rounds = []
            for play in scene.plays:
                began = time.monotonic()
                one = await play(made, chance)
                one = replace(one, seconds=time.monotonic() - began)
                if scene.is_exact and one.account.twice_staged:
                    twice = f"{one.account.twice_staged} rows twice in a sink that takes a batch's id once"
                    one = one.failed(
                        f"{twice}\n{'; '.join(one.struck)}\n{await asyncio.to_thread(made.told_of_batches_twice)}"
                    )
                rounds.append(one)
                yield one
            for problem in await _changes_at_the_end(scene, made, rounds):
                yield replace(rounds[-1], when="afterwards", account=Account(problems=(problem,)))


async def _changes_at_the_end(scene: Scene, made: Place, rounds: Sequence[Round]) -> list[str]:
    """Count once more after all workers have ended, and return what has changed."""
    await made.at_rest()
    account = await made.account(1)
    problems = []
    for name in ("lost", "dead", *(("twice_staged",) if scene.is_exact else ())):
        then, now = sum(getattr(one.account, name) for one in rounds), getattr(account, name)
        if then != now:
            problems.append(f"{name}: {then} after the rounds, and {now} once all workers had ended")
    return problems


def row(rounds: Sequence[Round]) -> list[str]:
    """Return the cells of a fault: its name and moment, and its rounds added up."""
    sums = [sum(getattr(one.account, name) for one in rounds) for name in SUMS.values()]
    seconds = sum(one.seconds for one in rounds)
    struck = sum(one.faults for one in rounds)
    return [rounds[0].fault, rounds[0].when, f"{struck:,}", *(f"{number:,}" for number in sums), f"{seconds:.0f}"]


def as_table(rounds: Iterable[Round]) -> str:
    """Return a row for each fault at each moment, and one for their sum."""
    by_fault: dict[tuple[str, str], list[Round]] = {}
    for one in rounds:
        by_fault.setdefault((one.fault, one.when), []).append(one)
    if not by_fault:
        return "No scene was played."
    rows = [row(some) for some in by_fault.values()]
    everything = [replace(one, fault="all", when="") for some in by_fault.values() for one in some]
    return table(("fault", "when", "faults", *SUMS, "seconds"), [*rows, row(everything)])
