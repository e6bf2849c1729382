"""A JVM for a classic session, on its way before anything of pyspark is imported: both take a second, side by side.

Knows which of our environment's variables pyspark and the JVM have to find changed. Does not wait for the JVM
(jvm.py), nor make a session (classic.py). Imports nothing that is slow to import.
"""

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from penstock_worker.spark import defaults, kubernetes, master
from penstock_worker.spark.jvm import Jvm
from penstock_worker.spark.problems import CannotStartError

ELSEWHERE = ("SPARK_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE_ENABLED")
"""Variables that turn every session into one of Spark Connect."""


def launch(url: str, folder: Path, conf: Mapping[str, str], archives: Path | None = None) -> Jvm:
    """Start the JVM of a classic session at a URL."""
    for variable in ELSEWHERE:
        os.environ.pop(variable, None)
    if master.is_on_this_machine(url):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else it is whatever python3 is on the PATH
    if master.is_kubernetes(url):
        kubernetes.write_template(folder, conf, os.environ)
    return Jvm(folder, defaults.classic(url, folder, conf), archives)


def launch_early(url: str, folder: Path, conf: Mapping[str, str], archives: Path | None = None) -> Jvm | None:
    """Start the JVM if the URL needs one; None also if it cannot be started, as whoever needs it will find and say."""
    if master.is_connect(url) or find_spec("py4j") is None:
        return None
    try:
        return launch(url, folder, conf, archives)
    except (CannotStartError, OSError):
        return None
