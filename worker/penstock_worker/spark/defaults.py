"""The settings that Spark gets from us, beneath those of the user: quick on batches, small, and quiet.

Knows why each is set. Does not start Spark. What the user sets goes before all of them.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from penstock_worker import container
from penstock_worker.spark import kubernetes, master

HEAP_OF_LIMIT = 0.6
"""Of a container's memory; the rest is for Python, Spark's Python workers, and what a JVM has beside its heap."""
HEAP_OF_MACHINE = 0.25
SMALLEST_HEAP, LARGEST_HEAP = 512 << 20, 4 << 30
"""Where nobody set a limit: a laptop has more to do than to run us."""
LOOPBACK = "127.0.0.1"
MEBIBYTE = 1 << 20
PARALLELISM = ("spark.default.parallelism", "spark.sql.leafNodeDefaultParallelism")
OPTIONS = "spark.driver.defaultJavaOptions"
# Java's thresholds for its optimising compiler, times four. A start runs much code some thousand times and never again,
# and to optimise that took a third of its CPU; what runs with every batch gets there somewhat later. More room
# for classes from the beginning halves the CPU of collections meanwhile.
QUICK_START = (
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=2400",
    "-XX:Tier4CompileThreshold=60000",
    "-XX:Tier4BackEdgeThreshold=160000",
    "-XX:MetaspaceSize=256m",
)
COLLECTORS = ("UseSerialGC", "UseParallelGC", "UseG1GC", "UseZGC", "UseShenandoahGC")

ANYWHERE: Mapping[str, str] = {"spark.sql.session.timeZone": "UTC"}

CLASSIC: Mapping[str, str] = {
    "spark.app.name": "penstock",
    "spark.scheduler.mode": "FAIR",  # two batches at once share the cores
    "spark.sql.execution.arrow.localRelationThreshold": "0",  # else the optimizer evaluates a batch on one thread
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Two pools of 1 024 threads that live for a minute: quick batches would fill them.
    "spark.sql.shuffleExchange.maxThreadThreshold": "8",
    "spark.sql.resultQueryStage.maxThreadThreshold": "8",
    # What the web pages would show of the past is kept in the heap, though nobody looks.
    "spark.ui.enabled": "false",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.showConsoleProgress": "false",
}

CONNECT: Mapping[str, str] = {
    # A batch travels within its plan: a server keeps what is uploaded beside it for the session's life.
    "spark.sql.session.localRelationCacheThreshold": str(64 * MEBIBYTE),
    # The server would hold the last plans, and with them their batches.
    "spark.connect.session.planCache.enabled": "false",
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
}


def classic(url: str, folder: Path, conf: Mapping[str, str]) -> dict[str, str]:
    """Return all settings of a JVM of our own."""
    settings = {**ANYWHERE, **CLASSIC, "spark.master": url, "spark.driver.memory": f"{heap() // MEBIBYTE}m"}
    settings[OPTIONS] = java_options(folder, conf)
    if master.is_on_this_machine(url):
        settings |= {"spark.driver.bindAddress": LOOPBACK, "spark.driver.host": LOOPBACK}
    else:
        settings |= kubernetes.reached_at(os.environ)
    if master.is_kubernetes(url):
        settings |= kubernetes.pods(conf, os.environ, folder)
    count = master.threads(url, container.cores())
    if count is not None:
        settings["spark.sql.shuffle.partitions"] = str(count)
    return settings | dict(conf)


def is_one_task(url: str, at_once: int, conf: Mapping[str, str]) -> bool:
    """Tell whether a batch is to be one partition: with as many batches at once as cores, each has one for itself.

    What Spark knows to be one partition needs no shuffle: aggregating 10 000 messages takes an eighth less of the CPU,
    100 000 a third less, and a small batch is done a fifth sooner.
    """
    count = master.threads(url, container.cores())
    return count is not None and count <= at_once and not any(name in conf for name in PARALLELISM)


def connect(conf: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that a session on a Connect server gets from us."""
    return {name: value for name, value in {**ANYWHERE, **CONNECT}.items() if name not in conf}


def heap() -> int:
    """Return the bytes of the JVM's heap."""
    limit = container.memory_limit()
    if limit is not None:
        return int(limit * HEAP_OF_LIMIT)
    return max(SMALLEST_HEAP, min(LARGEST_HEAP, int(container.memory() * HEAP_OF_MACHINE)))


def java_options(folder: Path, conf: Mapping[str, str]) -> str:
    """Return the JVM's options. One that ran out of memory is not to be trusted any more: it ends, and is replaced."""
    options = [*QUICK_START, "-XX:+ExitOnOutOfMemoryError", f"-Djava.io.tmpdir={folder / 'tmp'}"]
    chosen = " ".join(conf.get(name, "") for name in (OPTIONS, "spark.driver.extraJavaOptions"))
    if not any(collector in chosen for collector in COLLECTORS):
        options.insert(0, "-XX:+UseParallelGC")  # the quickest on large batches
    return " ".join(options)
