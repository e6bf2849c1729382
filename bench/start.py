"""How long it takes from `penstock up` to the first batch that is committed, everything being installed.

A thousand orders wait in the embedded server's store. The clock runs from the start of the process until the Parquet
folder of the batch is in its place. Beside it, Spark alone: a script that starts a session, and writes the same rows.

Installed means for both: their modules are compiled, as pip leaves them, whatever PYTHONDONTWRITEBYTECODE says here. A
round before the counted ones sees to that, and leaves Penstock's archive of Java classes.
"""

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.harness.report import final_line, progress, table
from penstock_jetstream import Connection, JetStream
from penstock_operator.local.embedded_nats import embedded_nats
from penstock_operator.local.state import StateFolder
from penstock_worker.spark.java import find_java
from tests.testbed.run import ROOT
from tests.testbed.waiting import eventually

ROUNDS = 5
ORDERS = 1000
PATIENCE_SECONDS = 120
TARGET_SECONDS = 5.0
EXAMPLE = ROOT / "examples" / "orders"
PENSTOCK = str(Path(sys.executable).with_name("penstock"))
SPARK_ALONE = """
import sys
from pyspark.sql import SparkSession, functions as f
rows = [(number, "north", 1.0) for number in range(int(sys.argv[2]))]
spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
orders = spark.createDataFrame(rows, "id BIGINT, region STRING, amount DOUBLE")
totals = orders.groupBy("region").agg(f.count("id").alias("orders"), f.sum("amount").alias("amount"))
totals.write.parquet(sys.argv[1])
"""


def main() -> None:
    ours, alone = [], []
    with TemporaryDirectory(prefix="penstock-") as folder:
        store = Path(folder, "store")
        asyncio.run(publish(store))
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = str(Path(folder, "compiled"))
        for number in range(ROUNDS + 1):
            mine = up(store, Path(folder, f"up-{number}"), environment)
            peers = spark_alone(Path(folder, f"spark-{number}"), environment)
            progress(f"round {number} of {ROUNDS}: {mine:.2f} s, Spark alone {peers:.2f} s")
            if number > 0:
                ours.append(mine)
                alone.append(peers)
    rows = [["penstock up", *_told(ours)], ["Spark alone", *_told(alone)]]
    print(table(("until the first batch is committed", "median", "best", "worst"), rows))
    print(f"\nThe target is {TARGET_SECONDS:g} s. Spark alone starts no NATS server, pulls and settles nothing.\n")
    mine, peer = statistics.median(ours), statistics.median(alone)
    print(
        final_line(
            "start", ours=round(mine, 3), peers={"spark_alone": round(peer, 3)}, ratio={"spark_alone": peer / mine}
        )
    )


async def publish(store: Path) -> None:
    """Have orders wait in a server's store."""
    async with embedded_nats(store) as nats, Connection(nats.url) as connection:
        js = JetStream(connection)
        await js.streams.create({"name": "ORDERS", "subjects": ["orders.>"]})
        async with js.publisher() as publisher:
            orders = [{"id": number, "region": "north", "amount": 1.0} for number in range(ORDERS)]
            confirmed = [await publisher.submit("orders.north", json.dumps(order).encode()) for order in orders]
            await asyncio.gather(*confirmed)


def up(store: Path, folder: Path, environment: Mapping[str, str]) -> float:
    """Return the seconds until the first batch is committed."""
    state = StateFolder(folder / "state")
    shutil.copytree(store, state.nats("default", "nats"))
    lake = folder / "lake"
    command = [PENSTOCK, "up", "-f", str(EXAMPLE), "--state", str(state.path), "--port", "0"]
    with began(command, {**environment, "LAKE": str(lake)}) as since:
        eventually(lambda: any((lake / "orders").glob("batch=*")), "the first batch", PATIENCE_SECONDS)
        return time.perf_counter() - since


def spark_alone(folder: Path, environment: Mapping[str, str]) -> float:
    """Return the seconds until the same rows are written, by a script that has nothing to do with us."""
    folder.mkdir()
    script = folder / "alone.py"
    script.write_text(SPARK_ALONE)
    java = {"JAVA_HOME": str(find_java(folder / "java").home)}
    with began([sys.executable, str(script), str(folder / "out"), str(ORDERS)], {**environment, **java}) as since:
        eventually((folder / "out" / "_SUCCESS").exists, "the file", PATIENCE_SECONDS)
        return time.perf_counter() - since


@contextmanager
def began(command: list[str], environment: Mapping[str, str]) -> Iterator[float]:
    """Run a program, and yield when it was started."""
    since = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield since
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def _told(seconds: list[float]) -> list[str]:
    return [f"{value:.2f} s" for value in (statistics.median(seconds), min(seconds), max(seconds))]
