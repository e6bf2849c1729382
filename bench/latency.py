"""How long a message takes from being published to being written, at a steady rate: our worker beside Kafka's stream.

Both do the same job on each batch (parse JSON, count and sum by region, append Parquet), each batch as soon as the one
before leaves room for it. The clock of a message runs from its publisher until readers see the file that has it: for
ours, until the batch's folder is given its name; for Kafka, until the write returns. Answers to the server, and Spark's
logs of offsets, come later. They take turns in several rounds, on JVMs that live for the whole benchmark; a round
before them is not counted, and of each round's messages the first are left out.

`make bench-latency ROUND_SECONDS=5 ROUNDS=1` tries it for a short while.
"""

import asyncio
import json
import os
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.harness import report
from bench.harness.stream import server
from bench.running.asking import AskedPeer
from bench.running.broker import Broker
from bench.running.job import counted
from bench.running.kafka import SPARK, kafka_if_there
from bench.running.messages import payloads
from bench.running.worker import Worker, settled
from penstock_jetstream import Connection, JetStream
from penstock_worker.api.staging import as_partition
from tests.testbed import run
from tests.testbed.nats.server import NatsServer
from tests.testbed.programs import Program
from tools import sparks
from tools.environment import ROOT

RATE = 1000
BATCH = 100_000
"""At most, as a queue group has it that says nothing; at this rate none is near."""
SECONDS = int(os.environ.get("ROUND_SECONDS", "20"))
WARM_SECONDS = 10
ROUNDS = int(os.environ.get("ROUNDS", "3"))
MESSAGES = RATE * (WARM_SECONDS + SECONDS)
PATIENCE_SECONDS = 120
MILLISECONDS = 1000
PERCENTILES = (50, 90, 99)
RATIOS = {50: "", 99: "_p99"}
"""Of which percentiles, and what the name of each ends with."""

Times = tuple[float, float]
"""When a message was published, and when it was written."""


@dataclass(frozen=True)
class Contender:
    name: str
    title: str
    run: Callable[[str, Path], list[Times]]
    """Through a stream or topic of that name, into a folder."""


@dataclass(frozen=True)
class Spread:
    """Of the latencies of one round, in milliseconds."""

    percentiles: Mapping[int, float]
    most: float


def main() -> None:
    with server() as nats, contenders(nats) as found:
        rounds: dict[str, list[Spread]] = {contender.name: [] for contender in found}
        for contender in found:
            report.progress(f"{contender.title} warms up: {in_words(one_run(contender, f'{contender.name}0'))}")
        for number in range(1, ROUNDS + 1):
            for contender in found:
                spread = one_run(contender, f"{contender.name}{number}")
                rounds[contender.name].append(spread)
                report.progress(f"round {number} of {ROUNDS}: {contender.title}: {in_words(spread)}")
    print(as_table({contender.name: contender.title for contender in found}, rounds))
    print()
    print(final_line(rounds))


# Who runs


@contextmanager
def contenders(nats: NatsServer) -> Iterator[list[Contender]]:
    python = sparks.ensure(SPARK) / "bin" / "python"
    lines = run.current().new_folder("messages") / "messages.ndjson"
    lines.write_bytes(b"\n".join(payloads(MESSAGES)))
    with ExitStack() as stack:
        worker = stack.enter_context(Worker(python, nats, "bench.running.functions:process_and_note"))
        found = [Contender("ours", "penstock", lambda name, into: asyncio.run(ours(worker, nats, name, into)))]
        if there := kafka_if_there(stack, python):
            broker, peer = there
            runs = partial(of_kafka, broker, peer, lines)
            found.append(Contender("kafka", "Kafka, Structured Streaming", runs))
        yield found


async def ours(worker: Worker, nats: NatsServer, name: str, into: Path) -> list[Times]:
    subject, file = f"{name}.m", into.with_suffix(".sent")
    async with Connection(nats.url) as connection:
        await JetStream(connection).streams.create({"name": name, "subjects": [subject], "storage": "file"})
        async with worker.waiting(name, name, BATCH) as (consumers, _):
            await consumers.resume(name, name)
            await asyncio.to_thread(published, publisher(nats.url, subject, file))
            await settled(consumers, name, name)
        await JetStream(connection).streams.delete(name)
    notes = (worker.lake / name).with_suffix(".notes").read_text().splitlines()
    lake = worker.lake / name
    written = [(appeared_at(lake, batch), ranges) for batch, ranges in map(json.loads, notes)]
    lake.rename(into)
    return times(json.loads(file.read_text()), written)


def appeared_at(lake: Path, batch: str) -> float:
    """Return when a batch's folder was given its name, which is when readers see it."""
    return (lake / f"batch={as_partition(batch)}").stat().st_ctime


def publisher(url: str, subject: str, file: Path) -> Program:
    words = ["-m", "bench.running.publisher", url, subject, str(MESSAGES), str(RATE), str(file)]
    return Program(f"publisher-{subject}", [sys.executable, *words], file.parent, {"PYTHONPATH": str(ROOT)})


def times(sent_at: list[float], written: Iterable[tuple[float, list[tuple[int, int]]]]) -> list[Times]:
    """Return when each message was published and written: sequences count from 1."""
    return [
        (sent_at[sequence - 1], written_at)
        for written_at, ranges in written
        for first, last in ranges
        for sequence in range(first, last + 1)
    ]


def of_kafka(broker: Broker, peer: AskedPeer, lines: Path, name: str, into: Path) -> list[Times]:
    broker.make_topic(name)
    peer.ask("follow", topic=name, into=str(into))
    published(broker.publisher(name, lines, MESSAGES, RATE))
    return [(at, written_at) for at, written_at in peer.ask("followed", topic=name, messages=MESSAGES)]


def published(program: Program) -> None:
    program.start()
    if code := program.wait_ended(WARM_SECONDS + SECONDS + PATIENCE_SECONDS):
        raise RuntimeError(f"The publisher ended with code {code}:\n{program.log_tail()}")


# What is measured


def one_run(contender: Contender, name: str) -> Spread:
    into = run.current().new_folder("out") / name
    found = contender.run(name, into)
    if (written := counted(into)) != MESSAGES or len(found) != MESSAGES:
        raise RuntimeError(f"{contender.title} wrote totals of {written:,} messages, not of {MESSAGES:,}.")
    return spread(found)


def spread(found: list[Times]) -> Spread:
    """Return how long the messages took that were published once all was warm."""
    begins_at = min(at for at, _ in found) + WARM_SECONDS
    latencies = sorted((written_at - at) * MILLISECONDS for at, written_at in found if at >= begins_at)
    percentiles = {percent: latencies[len(latencies) * percent // 100] for percent in PERCENTILES}
    return Spread(percentiles, latencies[-1])


def in_words(one: Spread) -> str:
    return ", ".join(f"p{percent} {value:.0f} ms" for percent, value in one.percentiles.items())


# What is told


def middle(rounds: list[Spread], percent: int) -> float:
    return statistics.median(each.percentiles[percent] for each in rounds)


def best(rounds: list[Spread]) -> Spread:
    return min(rounds, key=lambda each: each.percentiles[99])


def as_table(titles: Mapping[str, str], rounds: Mapping[str, list[Spread]]) -> str:
    columns = ["", *(f"p{percent} ms: best" for percent in PERCENTILES), "max"]
    columns += [f"p{percent}: median" for percent in PERCENTILES]
    rows = []
    for name, those in rounds.items():
        top = best(those)
        figures = [*top.percentiles.values(), top.most, *(middle(those, percent) for percent in PERCENTILES)]
        rows.append([titles[name], *(f"{figure:.0f}" for figure in figures)])
    return report.table(columns, rows)


def final_line(rounds: Mapping[str, list[Spread]]) -> str:
    told = {name: facts(those) for name, those in rounds.items()}
    return report.final_line(
        "latency",
        ours=told.pop("ours"),
        peers=told,
        ratio=ratios(rounds, lambda those, percent: best(those).percentiles[percent]),
        ratio_median=ratios(rounds, middle),
        rate=RATE,
        spark=SPARK,
    )


def facts(rounds: list[Spread]) -> dict[str, Any]:
    top = best(rounds)
    milliseconds = {f"p{percent}": round(value, 1) for percent, value in top.percentiles.items()}
    medians = {f"p{percent}": round(middle(rounds, percent), 1) for percent in PERCENTILES}
    return {"best_ms": milliseconds | {"max": round(top.most, 1)}, "median_ms": medians}


def ratios(rounds: Mapping[str, list[Spread]], value: Callable[[list[Spread], int], float]) -> dict[str, float]:
    """Return each peer's latency over ours: above 1, ours is better."""
    return {
        f"{name}{ending}": round(value(rounds[name], percent) / value(rounds["ours"], percent), 3)
        for name in rounds.keys() - {"ours"}
        for percent, ending in RATIOS.items()
    }
