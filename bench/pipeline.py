"""How fast messages go through a Spark job per batch and are settled: our worker beside what one would take instead.

All do the same job (parse JSON, count and sum by region, append Parquet) on the same messages with the same Spark, in
batches of 10 000 and of 100 000, one after the other in several rounds. Each has a JVM of its own that lives for the
whole benchmark and is warm when the first round begins. What each wrote is counted afterwards.

    naive          nats-py's fetch, createDataFrame of tuples, the job, an ack for each message, as its users write it
    spark_alone    the job on tables of Arrow that lie in memory: no server, nothing to settle
    kafka          a Kafka broker, read by Structured Streaming with foreachBatch

`make bench-pipeline MESSAGES=100000 ROUNDS=1` tries it on fewer.
"""

import asyncio
import os
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.harness import report
from bench.harness.stream import server
from bench.running.asking import AskedPeer
from bench.running.broker import Broker
from bench.running.job import counted
from bench.running.kafka import SPARK, kafka_if_there
from bench.running.messages import payloads, publish
from bench.running.runs import Run, metered
from bench.running.worker import Worker, consumer_config
from penstock_jetstream import Connection, JetStream
from tests.testbed import run
from tests.testbed.nats.server import NatsServer
from tools import sparks

MESSAGES = int(os.environ.get("MESSAGES", "1000000"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
BATCHES = (10_000, 100_000)
NAIVE_SHARE = 5
"""Its rate does not depend on how many messages there are, and the whole would take it minutes: it gets a fifth."""
WARM_SHARE = 4
"""So much of the messages each processes before the first round, in either size of batches."""
ALL, WARM = "ALL", "WARM"
"""The streams and topics."""

Case = tuple[str, int]
"""A contender and a size of batches."""


@dataclass(frozen=True)
class Work:
    source: str
    """A stream, or a topic."""
    messages: int
    batch: int
    into: Path


@dataclass(frozen=True)
class Contender:
    name: str
    title: str
    run: Callable[[Work], Run]
    share: int = 1


def main() -> None:
    batches = [size for size in BATCHES if size <= MESSAGES]
    with server() as nats, contenders(nats) as found:
        warm_up(found, batches)
        runs = measure(found, batches)
    print(as_table({contender.name: contender.title for contender in found}, runs))
    print()
    print(final_line(runs))


# Who runs


@contextmanager
def contenders(nats: NatsServer) -> Iterator[list[Contender]]:
    python = sparks.ensure(SPARK) / "bin" / "python"
    messages = payloads(MESSAGES)
    file = run.current().new_folder("messages") / "messages.parquet"
    pq.write_table(pa.table({"value": pa.array(messages, pa.binary()).cast(pa.string())}), file)
    for stream, count in ((ALL, MESSAGES), (WARM, MESSAGES // WARM_SHARE)):
        asyncio.run(publish(nats.url, stream, messages[:count]))
    del messages
    with ExitStack() as stack:
        worker = stack.enter_context(Worker(python, nats, "bench.running.functions:process"))
        naive = stack.enter_context(AskedPeer(python, "naive", url=nats.url))
        alone = stack.enter_context(AskedPeer(python, "spark_alone", file=str(file)))
        yield [
            Contender("ours", "penstock", lambda work: ours(worker, work)),
            *of_kafka_if_there(stack, python, file),
            Contender("naive", "nats-py and createDataFrame", lambda work: of_naive(naive, nats, work), NAIVE_SHARE),
            Contender("spark_alone", "Spark alone", lambda work: of_spark_alone(alone, work)),
        ]


def of_kafka_if_there(stack: ExitStack, python: Path, file: Path) -> list[Contender]:
    if not (there := kafka_if_there(stack, python)):
        return []
    kafka, peer = there
    for topic, count in ((ALL, MESSAGES), (WARM, MESSAGES // WARM_SHARE)):
        report.progress(f"publishing {count:,} messages to topic {topic} …")
        kafka.make_topic(topic)
        peer.ask("load", topic=topic, file=str(file), messages=count)
    return [Contender("kafka", "Kafka, Structured Streaming", lambda work: of_kafka(peer, kafka, work))]


def ours(worker: Worker, work: Work) -> Run:
    done = worker.run(work.source, work.into.name, work.messages, work.batch)
    (worker.lake / work.into.name).rename(work.into)
    return done


def of_naive(peer: AskedPeer, nats: NatsServer, work: Work) -> Run:
    asyncio.run(new_consumer(nats.url, work))
    facts = {"stream": work.source, "consumer": work.into.name, "messages": work.messages}
    return asked(peer, {"server": nats.pid}, work, **facts)


async def new_consumer(url: str, work: Work) -> None:
    async with Connection(url) as connection:
        await JetStream(connection).consumers.create(work.source, consumer_config(work.into.name, work.batch))


def of_spark_alone(peer: AskedPeer, work: Work) -> Run:
    return asked(peer, {}, work, messages=work.messages)


def of_kafka(peer: AskedPeer, kafka: Broker, work: Work) -> Run:
    return asked(peer, {"server": kafka.pid}, work, topic=work.source)


def asked(peer: AskedPeer, others: Mapping[str, int], work: Work, **facts: object) -> Run:
    with metered({**others, "driver": peer.pid}) as taken:
        seconds = peer.ask("run", batch=work.batch, into=str(work.into), **facts)["seconds"]
    return Run(work.messages, seconds, taken)


# What is measured


def warm_up(found: list[Contender], batches: list[int]) -> None:
    for contender in found:
        for batch in batches:
            report.progress(f"{contender.title} warms up with batches of {batch:,} …")
            one_run(contender, WARM, MESSAGES // WARM_SHARE // contender.share, batch, "warm")


def measure(found: list[Contender], batches: list[int]) -> dict[Case, list[Run]]:
    runs: dict[Case, list[Run]] = {(contender.name, batch): [] for batch in batches for contender in found}
    for number in range(1, ROUNDS + 1):
        for batch in batches:
            for contender in found:
                done = one_run(contender, ALL, MESSAGES // contender.share, batch, str(number))
                runs[contender.name, batch].append(done)
                rate = f"{done.rate:,.0f} msg/s"
                report.progress(f"round {number} of {ROUNDS}, batches of {batch:,}: {contender.title}: {rate}")
    return runs


def one_run(contender: Contender, stream: str, messages: int, batch: int, name: str) -> Run:
    into = run.current().new_folder("out") / f"{contender.name}-{batch}-{name}"
    done = contender.run(Work(stream, messages, batch, into))
    if (found := counted(into)) != messages:
        raise RuntimeError(f"{contender.title} wrote totals of {found:,} messages, not of {messages:,}.")
    return done


# What is told


def best(runs: list[Run]) -> Run:
    return max(runs, key=lambda each: each.rate)


def median_rate(runs: list[Run]) -> float:
    return statistics.median(each.rate for each in runs)


def cpu(runs: list[Run], group: str) -> float | None:
    """Return what a group takes for a message at best; None where there is no such group."""
    taken = [each.cpu_microseconds(group) for each in runs if group in each.cpu_seconds]
    return min(taken, default=None)


def as_table(titles: Mapping[str, str], runs: Mapping[Case, list[Run]]) -> str:
    columns = ["", "batch", "best msg/s", "median", "CPU µs/msg: server", "engine", "driver"]
    rows = []
    for (name, batch), those in runs.items():
        taken = [cpu(those, group) for group in ("server", "engine", "driver")]
        figures = [f"{best(those).rate:,.0f}", f"{median_rate(those):,.0f}"]
        rows.append([titles[name], f"{batch:,}", *figures, *("-" if one is None else f"{one:.1f}" for one in taken)])
    return report.table(columns, rows)


def final_line(runs: Mapping[Case, list[Run]]) -> str:
    told: dict[str, dict[str, Any]] = {}
    for (name, batch), those in runs.items():
        told.setdefault(name, {})[str(batch)] = facts(those)
    return report.final_line(
        "pipeline",
        ours=told.pop("ours"),
        peers=told,
        ratio=ratios(runs, lambda those: best(those).rate),
        ratio_median=ratios(runs, median_rate),
        messages=MESSAGES,
        spark=SPARK,
    )


def facts(runs: list[Run]) -> dict[str, Any]:
    groups = {group: cpu(runs, group) for group in ("server", "engine", "driver")}
    return {
        "best": round(best(runs).rate),
        "median": round(median_rate(runs)),
        "cpu_us_per_message": {group: round(taken, 2) for group, taken in groups.items() if taken is not None},
    }


def ratios(runs: Mapping[Case, list[Run]], rate: Callable[[list[Run]], float]) -> dict[str, float]:
    """Return ours over each peer, at each size of batches; above 1, ours is better."""
    found = {}
    for (name, batch), those in runs.items():
        mine = runs["ours", batch]
        if name == "ours":
            continue
        key = name if batch == BATCHES[0] else f"{name}_{batch // 1000}k"
        found[key] = rate(mine) / rate(those)
        if name == "spark_alone":
            found[f"{key}_driver_cpu"] = (cpu(those, "driver") or 0) / (cpu(mine, "driver") or 1)
    return {name: round(value, 3) for name, value in found.items()}
