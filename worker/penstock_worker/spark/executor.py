"""`python -m penstock_worker.spark.executor`: becomes an executor of Spark on Kubernetes, in a pod that a driver made.

Knows the variables by which Spark tells an executor's container what it is (those that the entrypoint of Spark's own
image reads), and where Java, the jars, and the archive of their classes are in ours. It replaces this process, so that
it hears the signals.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock_worker.spark.archive import ARCHIVES, archive, jars_in_order
from penstock_worker.spark.java import Java, find_java
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
    home = Path(spark_home())
    java = find_java(Path.cwd() / "java")
    binary, options = java.home / "bin" / "java", _archive_options(java, home)
    try:
        command = executor_command(os.environ, java=binary, home=home, options=options)
    except KeyError as missing:
        sys.exit(f"An executor is started by a driver, which sets {missing.args[0]}: it is not set.")
    os.execve(command[0], command, {**os.environ, "SPARK_HOME": str(home), "JAVA_HOME": str(java.home)})  # noqa: S606


def executor_command(told: Mapping[str, str], *, java: Path, home: Path, options: Sequence[str] = ()) -> list[str]:
    """Return the program and its arguments; a KeyError names a variable that is missing.

    The jars stand in the order of the archive's, which Java takes only if no files are before them.
    """
    memory = told["SPARK_EXECUTOR_MEMORY"]
    settings = told.get("SPARK_CONF_DIR", f"{home}/conf")
    before = [settings, told.get("HADOOP_CONF_DIR"), told.get("SPARK_EXTRA_CLASSPATH")]
    places = [*before, jars_in_order(home), f"{home}/jars/*", os.curdir]
    return [
        str(java),
        *options,
        *_java_options(told),
        f"-Xms{memory}",
        f"-Xmx{memory}",
        "-cp",
        os.pathsep.join(place for place in places if place),
        MAIN,
        *(word for name, variable in ARGUMENTS.items() for word in (name, told[variable])),
    ]


def _archive_options(java: Java, home: Path) -> list[str]:
    """Return what has Java map the archive of Spark's classes that the image has, if it has one."""
    folder = os.environ.get(ARCHIVES)
    found = archive(Path(folder), java, home) if folder else None
    return [*found.options()] if found is not None and found.is_there else []


def _java_options(told: Mapping[str, str]) -> list[str]:
    numbers = sorted(int(name.removeprefix(JAVA_OPTION)) for name in told if name.startswith(JAVA_OPTION))
    return [told[f"{JAVA_OPTION}{number}"] for number in numbers]


if __name__ == "__main__":
    main()
