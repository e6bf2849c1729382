"""Spark's classic API: one JVM per test session, whose executors are threads."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

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


class ClassicSpark:
    """The one JVM of this test session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._session: SparkSession | None = None
        os.environ.update(environment(folder))

    def session(self) -> SparkSession:
        """Return a session with settings of its own."""
        if self._session is not None:
            return self._session.newSession()
        builder = SparkSession.builder.master("local[2]").appName("penstock-tests")
        for key, value in SETTINGS.items():
            builder = builder.config(key, value)
        builder = builder.config("spark.sql.warehouse.dir", str(self.folder / "warehouse"))
        self._session = builder.config("spark.local.dir", str(self.folder / "local")).getOrCreate()
        self._session.sparkContext.setLogLevel("WARN")
        return self._session

    def stop(self) -> None:
        if self._session is not None:
            self._session.stop()
            self._session = None
