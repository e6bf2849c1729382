"""Spark's classic API: one JVM per test session, whose executors are threads."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from penstock_worker.spark import find_java
from tests.testbed.ports import LOOPBACK

SETTINGS: Mapping[str, str] = {
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.host": LOOPBACK,
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # tests live short: start fast
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


LOGGING = """
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex
"""


def environment(folder: Path) -> dict[str, str]:
    """Return what Spark needs: a Java, this Python, its home, and settings of no other Spark on this machine."""
    (folder / "log4j2.properties").write_text(LOGGING)
    return {
        "JAVA_HOME": str(find_java(folder / "java").home),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_CONF_DIR": str(folder),
        "PYSPARK_PYTHON": sys.executable,
    }


def settings(folder: Path) -> dict[str, Any]:
    """Return Spark's settings, with its files in the folder."""
    return {
        **SETTINGS,
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }


def start(folder: Path) -> SparkSession:
    """Start the one JVM of this test session, and return its first session."""
    os.environ.update(environment(folder))
    builder = SparkSession.builder.master("local[2]").appName("penstock-tests")
    session = builder.config(map=settings(folder)).getOrCreate()
    session.sparkContext.setLogLevel("WARN")
    return session
