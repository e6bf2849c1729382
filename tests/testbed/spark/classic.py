"""Spark's classic API: one JVM per test session, which can change its master."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil
import pyspark
from pyspark.sql import SparkSession

from penstock_worker.spark import find_java
from tests.testbed.ports import LOOPBACK
from tests.testbed.processes import words

SETTINGS: Mapping[str, str] = {
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.host": LOOPBACK,
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # tests live short: start fast
    "spark.driver.memory": "1g",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.memory": "768m",  # less than the 1024 of a local-cluster worker
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # a test of two executors starts with two
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
    """Return what Spark needs: a Java, this Python, its home, and settings of nobody else's Spark on this machine."""
    (folder / "log4j2.properties").write_text(LOGGING)
    return {
        "JAVA_HOME": str(find_java(folder / "java").home),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_CONF_DIR": str(folder),
        "PYSPARK_PYTHON": sys.executable,
    }


class ClassicSpark:
    """The one JVM of this test session; sessions for one master or the other, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._session: SparkSession | None = None
        os.environ.update(environment(folder))

    def session(self, master: str) -> SparkSession:
        """Return a session on that master; the session of another master is ended for it."""
        if self._session is not None and self._session.sparkContext.master == master:
            return self._session.newSession()
        self.stop()
        builder = SparkSession.builder.master(master).appName("penstock-tests")
        for key, value in SETTINGS.items():
            builder = builder.config(key, value)
        builder = builder.config("spark.sql.warehouse.dir", str(self.folder / "warehouse"))
        self._session = builder.config("spark.local.dir", str(self.folder / "local")).getOrCreate()
        self._session.sparkContext.setLogLevel("WARN")
        return self._session

    def executors(self) -> list[psutil.Process]:
        """Return the executor processes of the local cluster, to be looked at or killed."""
        family = psutil.Process().children(recursive=True)
        return [member for member in family if any("CoarseGrainedExecutorBackend" in word for word in words(member))]

    def stop(self) -> None:
        if self._session is not None:
            self._session.stop()
            self._session = None
