"""pytest's side of Spark. pyspark is imported where a test wants it: it takes every test process half a second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.testbed import programs, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def classic_spark() -> Iterator[SparkSession]:
    """The first session of the one JVM."""
    from tests.testbed.spark import classic  # noqa: PLC0415 - see above

    spark = classic.start(run.current().new_folder("spark"))
    yield spark
    spark.stop()


@pytest.fixture
def spark(classic_spark: SparkSession) -> SparkSession:
    """A classic session with settings of its own, whose executors are threads."""
    return classic_spark.newSession()


@pytest.fixture(scope="session")
def spark_connect() -> str:
    """The URL of a Spark Connect server that parallel test processes share."""
    from tests.testbed.spark.connect import ConnectServer  # noqa: PLC0415 - see above

    def start() -> dict[str, Any]:
        server = ConnectServer(run.current().new_folder("spark-connect"))
        server.start()
        return {"url": server.url, "log": str(server.program.log)}

    facts = run.current().shared("spark-connect", start)
    programs.attach("spark-connect", facts["log"])
    url: str = facts["url"]
    return url
