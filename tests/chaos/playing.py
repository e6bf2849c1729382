"""Playing scenes, one after the other, and the table of what came of them."""

import random
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace

from bench.harness.report import table
from tests.chaos.accounting import Account
from tests.chaos.place import Place, place
from tests.chaos.rounds import Round
from tests.chaos.scenes import Scene

COLUMNS = (
    "fault",
    "when",
    "runs",
    "messages",
    "lost",
    "twice by id",
    "twice appended",
    "dead letters",
    "left",
    "seconds",
)


async def played(scene: Scene, chance: random.Random) -> AsyncIterator[Round]:
    """Play one scene, and yield each round as it is over."""
    with scene.site() as site:
        async with place(scene.shape, site) as made:
            rounds = []
            for play in scene.plays:
                rounds.append(_judged(await play(made, chance), is_exact=scene.is_exact))
                yield rounds[-1]
            for problem in await _afterwards(made, rounds):
                yield replace(rounds[-1], when="afterwards", account=Account(problems=(problem,)))


def _judged(one: Round, *, is_exact: bool) -> Round:
    twice = one.account.twice_staged if is_exact else 0
    if not twice:
        return one
    problem = f"{twice} rows twice in a sink that takes a batch's id once"
    return replace(one, account=replace(one.account, problems=(*one.account.problems, problem)))


async def _afterwards(made: Place, rounds: Sequence[Round]) -> list[str]:
    """Count once more after all workers have ended, and return what has changed."""
    await made.at_rest()
    account = await made.account(1)
    problems = []
    for name in ("lost", "dead", "twice_staged"):
        then, now = sum(getattr(one.account, name) for one in rounds), getattr(account, name)
        if then != now:
            problems.append(f"{name}: {then} after the rounds, and {now} once all workers had ended")
    return problems


@dataclass(frozen=True)
class Row:
    """All rounds of one fault."""

    rounds: Sequence[Round]

    @property
    def cells(self) -> list[str]:
        accounts = [one.account for one in self.rounds]
        sums = [
            sum(account.messages for account in accounts),
            sum(account.lost for account in accounts),
            sum(account.twice_staged for account in accounts),
            sum(account.twice_appended for account in accounts),
            sum(account.dead for account in accounts),
            sum(account.left for account in accounts),
        ]
        first, seconds = self.rounds[0], sum(one.seconds for one in self.rounds)
        return [first.fault, first.when, str(len(accounts)), *(f"{number:,}" for number in sums), f"{seconds:.0f}"]


def told(rounds: Iterable[Round]) -> str:
    """Return the table: a row for each fault at each moment, and their sum."""
    by_fault: dict[tuple[str, str], list[Round]] = {}
    for one in rounds:
        by_fault.setdefault((one.fault, one.when), []).append(one)
    rows = [Row(some).cells for some in by_fault.values()]
    everything = [replace(one, fault="all", when="") for some in by_fault.values() for one in some]
    return table(COLUMNS, [*rows, Row(everything).cells]) if everything else "Nothing was played."
