"""`python -m penstock_worker.spark.executor`: becomes an executor of Spark on Kubernetes, in a pod that a driver made.

Knows the variables by which Spark tells an executor's container what it is (those that the entrypoint of Spark's own
image reads), and where Java and the jars are in ours. It replaces this process, so that it hears the signals.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from penstock_worker.spark.java import find_java
from penstock_worker.spark.jvm import spark_home

MAIN = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
JAVA_OPTION = "SPARK_JAVA_OPT_"
ARGUMENTS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}


def main() -> None:
    """Become the executor."""
    home = spark_home()
    java = find_java(Path.cwd() / "java")
    try:
        command = executor_command(os.environ, java=java.home / "bin" / "java", jars=Path(home) / "jars")
    except KeyError as missing:
        sys.exit(f"An executor is started by a driver, which sets {missing.args[0]}: it is not set.")
    os.execve(command[0], command, {**os.environ, "SPARK_HOME": home, "JAVA_HOME": str(java.home)})  # noqa: S606


def executor_command(told: Mapping[str, str], *, java: Path, jars: Path) -> list[str]:
    """Return the program and its arguments; a KeyError names a variable that is missing."""
    memory = told["SPARK_EXECUTOR_MEMORY"]
    places = [told.get("SPARK_CONF_DIR"), told.get("HADOOP_CONF_DIR"), told.get("SPARK_EXTRA_CLASSPATH"), f"{jars}/*"]
    return [
        str(java),
        *_java_options(told),
        f"-Xms{memory}",
        f"-Xmx{memory}",
        "-cp",
        os.pathsep.join([*(place for place in places if place), os.curdir]),
        MAIN,
        *(word for name, variable in ARGUMENTS.items() for word in (name, told[variable])),
    ]


def _java_options(told: Mapping[str, str]) -> list[str]:
    numbers = sorted(int(name.removeprefix(JAVA_OPTION)) for name in told if name.startswith(JAVA_OPTION))
    return [told[f"{JAVA_OPTION}{number}"] for number in numbers]


if __name__ == "__main__":
    main()
