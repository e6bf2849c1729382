"""How fast messages are pulled and acked: our lane and our single messages beside nats.go and nats-py.

All run on the same server and stream, each in a process of its own, one after the other, in several rounds. The rate is
that of the whole (server and client share the machine's cores); the CPU is the client's own.
"""

import asyncio
import json
import statistics
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.harness import report
from bench.harness.stream import STREAM, load, server
from penstock_jetstream import Connection, JetStream
from tests.testbed.golang import GoProgram
from tools.console import CannotContinueError

MESSAGES = 400_000
SIZE_BYTES = 200
ROUNDS = 3
ACK_WAIT_NANOSECONDS = 300_000_000_000
MAX_ACK_PENDING = 200_000
ENDURANCE_MESSAGES = 5_000_000
NATS_GO = "1.55.0"


@dataclass(frozen=True)
class Contender:
    name: str
    title: str
    ack_policy: str = "explicit"


CONTENDERS = (
    Contender("lane", "penstock lane, explicit acks"),
    Contender("lane_ack_all", "penstock lane, one ack per 10 000", ack_policy="all"),
    Contender("iterator", "penstock messages, an ack each"),
    Contender("nats_go", "nats.go Consume, an ack each"),
    Contender("nats_py", "nats-py fetch, an ack each"),
)


@dataclass(frozen=True)
class Run:
    rate: float
    cpu_microseconds: float


def main() -> None:
    with server() as nats:
        asyncio.run(load(nats.url, messages=MESSAGES, size_bytes=SIZE_BYTES))
        runs = measure(nats.url, contenders())
        long = endure(nats.url)
    print(as_table(runs))
    print(f"\n{in_words(long)}\n")
    print(final_line(runs, long))


def contenders() -> dict[Contender, list[str]]:
    """Return the command of each who can run here."""
    python = [sys.executable, "-m", "bench.consumers"]
    commands = {contender: [*python, contender.name] for contender in CONTENDERS if contender.name != "nats_go"}
    try:
        source = Path(__file__).parent / "go" / "consume"
        program = GoProgram("bench-consume", NATS_GO, ".", source).build()
    except CannotContinueError as problem:
        report.progress(f"nats.go is left out: {problem}")
        return commands
    return {contender: commands.get(contender, [str(program)]) for contender in CONTENDERS}


def measure(url: str, commands: Mapping[Contender, list[str]]) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {contender.name: [] for contender in commands}
    for number in range(1, ROUNDS + 1):
        for contender, command in commands.items():
            run = one_run(url, contender, command)
            runs[contender.name].append(run)
            report.progress(f"round {number} of {ROUNDS}: {contender.title}: {run.rate:,.0f} msg/s")
    return runs


def one_run(url: str, contender: Contender, command: list[str]) -> Run:
    asyncio.run(new_consumer(url, contender))
    done = subprocess.run([*command, url, STREAM, contender.name, str(MESSAGES)], stdout=subprocess.PIPE, check=True)
    facts = json.loads(done.stdout)
    if facts["messages"] != MESSAGES:
        raise RuntimeError(f"{contender.title} saw {facts['messages']} messages of {MESSAGES}.")
    return Run(MESSAGES / facts["seconds"], facts["cpu_seconds"] / MESSAGES * 1e6)


async def new_consumer(url: str, contender: Contender) -> None:
    config: dict[str, Any] = {
        "durable_name": contender.name,
        "ack_policy": contender.ack_policy,
        "ack_wait": ACK_WAIT_NANOSECONDS,
        "max_ack_pending": MAX_ACK_PENDING,
    }
    async with Connection(url) as connection:
        js = JetStream(connection)
        if contender.name in [name async for name in js.consumers.names(STREAM)]:
            await js.consumers.delete(STREAM, contender.name)
        await js.consumers.create(STREAM, config)


def endure(url: str) -> dict[str, Any]:
    """Run one lane for long, and return how many messages it settled in which time, and its memory meanwhile."""
    report.progress(f"one lane, {ENDURANCE_MESSAGES:,} messages …")
    command = [sys.executable, "-m", "bench.consumers.endurance", url, STREAM, str(ENDURANCE_MESSAGES)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def best(runs: list[Run]) -> Run:
    return Run(max(run.rate for run in runs), min(run.cpu_microseconds for run in runs))


def median(runs: list[Run]) -> Run:
    return Run(statistics.median(run.rate for run in runs), statistics.median(run.cpu_microseconds for run in runs))


def as_table(runs: Mapping[str, list[Run]]) -> str:
    titles = {contender.name: contender.title for contender in CONTENDERS}
    rows = []
    for name, those in runs.items():
        top, middle = best(those), median(those)
        figures = [top.rate, middle.rate]
        rows.append(
            [titles[name], *(f"{figure:,.0f}" for figure in figures)]
            + [f"{figure:.2f}" for figure in (top.cpu_microseconds, middle.cpu_microseconds)]
        )
    return report.table(["", "best msg/s", "median", "best CPU µs/msg", "median"], rows)


def in_words(long: Mapping[str, Any]) -> str:
    rate = long["messages"] / long["seconds"]
    first, last = long["memory_mib"][0], long["memory_mib"][-1]
    return (
        f"{long['messages']:,} messages through one lane, each ack confirmed: {rate:,.0f} msg/s; "
        f"memory {first} MiB after the first {MESSAGES:,}, {last} MiB at the end"
    )


def final_line(runs: Mapping[str, list[Run]], long: Mapping[str, Any]) -> str:
    peers = {name: runs[name] for name in ("nats_go", "nats_py") if name in runs}
    figures = {
        name: {"best": round(best(those).rate), "median": round(median(those).rate)} for name, those in runs.items()
    }
    return report.final_line(
        "consume",
        ours={name: facts for name, facts in figures.items() if name not in peers},
        peers={name: figures[name] for name in peers},
        ratio=ratios({name: best(those) for name, those in runs.items()}),
        ratio_median=ratios({name: median(those) for name, those in runs.items()}),
        endurance=long,
    )


def ratios(runs: Mapping[str, Run]) -> dict[str, float]:
    """Return ours over each peer; above 1, ours is better."""
    lane, found = runs["lane"], {}
    if "nats_go" in runs:
        go = runs["nats_go"]
        found["nats_go"] = lane.rate / go.rate
        found["nats_go_cpu"] = go.cpu_microseconds / lane.cpu_microseconds
        found["nats_go_ack_all"] = runs["lane_ack_all"].rate / go.rate
    found["nats_py"] = lane.rate / runs["nats_py"].rate
    found["nats_py_iterator"] = runs["iterator"].rate / runs["nats_py"].rate
    return {name: round(value, 3) for name, value in found.items()}
