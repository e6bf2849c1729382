"""How fast declared streams and consumers become real, and what they cost when nothing changes: ours beside NACK's.

Each contender is an operator on a fresh API server (etcd, no other controllers) and a fresh NATS server. The clock runs
from the first create request of a client, the same for all, until every object says Ready; then the NATS server is
asked whether all is there. In the last round each is left alone for a minute, and then given still more objects, if its
rate so far lets that end in time.
"""

import asyncio
import statistics
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bench.harness import report
from bench.harness.whole import measuring
from bench.reconciling.client import client
from bench.reconciling.contender import Contender
from bench.reconciling.measuring import Idle, Made, make, rest
from bench.reconciling.nack import NACK
from bench.reconciling.penstock import PENSTOCK
from bench.reconciling.place import place
from tests.testbed import binaries
from tools.console import CannotContinueError

STREAMS = 1000
"""And as many consumers: one each."""
STREAMS_IN_THE_END = 5000
OBJECTS, OBJECTS_IN_THE_END = 2 * STREAMS, 2 * STREAMS_IN_THE_END
ROUNDS = 3
BUDGET_SECONDS = 12 * 60
"""So long all of it may take; what would end later is not begun."""


@dataclass(frozen=True)
class Round:
    made: Made
    idle: Idle | None = None
    more: Made | None = None


def main() -> None:
    ends_at = time.monotonic() + BUDGET_SECONDS
    with measuring():
        contenders = those_who_can_run()
        rounds: dict[str, list[Round]] = {contender.name: [] for contender in contenders}
        for number in range(1, ROUNDS + 1):
            for contender in contenders:
                done = one_round(contender, ends_at, is_last=number == ROUNDS)
                rounds[contender.name].append(done)
                report.progress(f"round {number} of {ROUNDS}: {contender.title}: {done.made.rate:.0f} objects/s")
    print(as_table(contenders, rounds))
    print(f"\n{in_words(contenders, rounds)}\n")
    print(final_line(rounds))


def those_who_can_run() -> list[Contender]:
    try:
        binaries.nack()
        binaries.nack_sources()
    except CannotContinueError as problem:
        report.progress(f"NACK is left out: {problem}")
        return [PENSTOCK]
    return [PENSTOCK, NACK]


def one_round(contender: Contender, ends_at: float, *, is_last: bool) -> Round:
    with place(contender) as where:

        async def story() -> Round:
            async with client(where.plane.kubeconfig, contender) as user, user.watching():
                made = await make(user, where, 0, STREAMS)
                if not is_last:
                    return Round(made)
                report.progress(f"{contender.title}: a minute without changes …")
                idle = await rest(where)
                takes_seconds = made.seconds * (STREAMS_IN_THE_END - STREAMS) / STREAMS
                if time.monotonic() + takes_seconds > ends_at:
                    report.progress(f"{contender.title}: still more objects would take {takes_seconds:.0f} s: left out")
                    return Round(made, idle)
                report.progress(f"{contender.title}: still more objects, about {takes_seconds:.0f} s …")
                return Round(made, idle, await make(user, where, STREAMS, STREAMS_IN_THE_END))

        return asyncio.run(story())


def as_table(contenders: list[Contender], rounds: Mapping[str, list[Round]]) -> str:
    columns = [
        "",
        "best objects/s",
        "median",
        "CPU ms/object",
        "writes/object",
        f"MiB at {OBJECTS:,}",
        f"MiB at {OBJECTS_IN_THE_END:,}",
    ]
    rows = []
    for contender in contenders:
        those = rounds[contender.name]
        made, more = best(those), those[-1].more
        figures = [f"{made.rate:.0f}", f"{median_rate(those):.0f}", f"{made.cpu_milliseconds:.1f}"]
        figures += [
            f"{made.writes_per_object:.1f}",
            f"{made.memory_mib:.0f}",
            f"{more.memory_mib:.0f}" if more else "-",
        ]
        rows.append([contender.title, *figures])
    return report.table(columns, rows)


def in_words(contenders: list[Contender], rounds: Mapping[str, list[Round]]) -> str:
    """Say what a minute without changes costs."""
    idle = {contender.title: rounds[contender.name][-1].idle for contender in contenders}
    lines = [f"  {title}: {idle_in_words(minute)}" for title, minute in idle.items() if minute]
    return "\n".join([f"A minute in which nothing changes, with {OBJECTS:,} objects:", *lines])


def idle_in_words(idle: Idle) -> str:
    return (
        f"{idle.api_server_writes} writes to the API server (and {idle.lease_writes} of a lease), "
        f"{idle.jetstream_writes} writes and {idle.jetstream_reads} reads of JetStream, {idle.cpu_seconds:.1f} s of CPU"
    )


def final_line(rounds: Mapping[str, list[Round]]) -> str:
    figures = {name: facts(those) for name, those in rounds.items()}
    ours = rounds[PENSTOCK.name]
    peers = {name: those for name, those in rounds.items() if name != PENSTOCK.name}
    return report.final_line(
        "reconcile",
        ours=figures[PENSTOCK.name],
        peers={name: figures[name] for name in peers},
        ratio={name: best(ours).rate / best(those).rate for name, those in peers.items()},
        ratio_median={name: round(median_rate(ours) / median_rate(those), 3) for name, those in peers.items()},
    )


def facts(rounds: list[Round]) -> dict[str, Any]:
    made, last = best(rounds), rounds[-1]
    found: dict[str, Any] = {
        "objects_per_second": {"best": round(made.rate, 1), "median": round(median_rate(rounds), 1)},
        "cpu_ms_per_object": round(made.cpu_milliseconds, 2),
        "writes_per_object": round(made.writes_per_object, 2),
        "memory_mib": round(made.memory_mib, 1),
    }
    if last.idle:
        found["idle_minute"] = {name: round(value, 2) for name, value in asdict(last.idle).items()}
    if last.more:
        found[f"memory_mib_at_{OBJECTS_IN_THE_END}"] = round(last.more.memory_mib, 1)
    return found


def best(rounds: list[Round]) -> Made:
    return max((each.made for each in rounds), key=lambda made: made.rate)


def median_rate(rounds: list[Round]) -> float:
    return statistics.median(each.made.rate for each in rounds)
