"""pytest's side of Spark."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.testbed import programs, run
from tests.testbed.spark.classic import PROCESSES, THREADS, ClassicSpark
from tests.testbed.spark.connect import ConnectServer


@pytest.fixture(scope="session")
def classic_spark() -> Iterator[ClassicSpark]:
    """The session's one JVM."""
    spark = ClassicSpark(run.current().new_folder("spark"))
    yield spark
    spark.stop()


@pytest.fixture
def spark(classic_spark: ClassicSpark) -> SparkSession:
    """A classic session whose executors are threads."""
    return classic_spark.session(THREADS)


@pytest.fixture
def spark_processes(classic_spark: ClassicSpark) -> SparkSession:
    """A classic session with two executor processes; `classic_spark.executors()` are they."""
    return classic_spark.session(PROCESSES)


@pytest.fixture(scope="session")
def spark_connect() -> str:
    """The URL of a Spark Connect server that parallel test processes share."""

    def start() -> dict[str, Any]:
        server = ConnectServer(run.current().new_folder("spark-connect"))
        server.start()
        return {"url": server.url, "log": str(server.program.log)}

    facts = run.current().shared("spark-connect", start)
    programs.attach("spark-connect", facts["log"])
    url: str = facts["url"]
    return url
