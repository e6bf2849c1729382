"""The Spark that a URL asks for.

Knows that pyspark may not be installed, or may be the client without a JVM; says what to install then.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from penstock_worker.spark.master import is_connect
from penstock_worker.spark.problems import CannotStartError

if TYPE_CHECKING:
    from penstock_worker.spark.contract import Spark
    from penstock_worker.spark.jvm import Jvm


def spark_for(
    url: str,
    folder: Path,
    conf: Mapping[str, str],
    *,
    at_once: int,
    token: str | None = None,
    archives: Path | None = None,
    jvm: "Jvm | None" = None,
) -> "Spark":
    """Return the Spark at a URL, not started. The folder is for what it writes besides the user's data.

    So many batches are to run at once.
    `archives` is a folder for archives of Java's classes, which outlive it; `jvm`, one that launch_early has started.
    """
    wanted = "connect" if is_connect(url) else "local"
    if find_spec("pyspark") is None:
        raise CannotStartError(f"pyspark is not installed: pip install 'penstock-worker[{wanted}]'.")
    if is_connect(url):
        from penstock_worker.spark.connect import ConnectSpark  # noqa: PLC0415 - pyspark is slow to import

        return ConnectSpark(url, token, conf)
    if find_spec("py4j") is None:
        raise CannotStartError(
            f"pyspark-client is installed, which reaches Connect servers only (sc://…), and Spark is to run on {url}:"
            " pip uninstall pyspark-client, then pip install 'penstock-worker[local]'."
        )
    from penstock_worker.spark.classic import ClassicSpark  # noqa: PLC0415 - see above

    return ClassicSpark(url, folder, conf, at_once, archives=archives, jvm=jvm)
