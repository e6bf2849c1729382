"""Settings as users write them: what is surely misspelt, and what is no value, told before there is any batch.

Spark takes any name in silence, and reads a value when something wants it. It can be asked what it knows itself; but
plugins, catalogs and the user's own code read settings that it has never heard of. So a name is refused only if it is
not known and all but a known one. Does not set anything.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyspark
from pyspark.errors import IllegalArgumentException

from penstock_worker.policy.spelling import meant
from penstock_worker.spark.facts import first_line
from penstock_worker.spark.problems import CannotStartError

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

OPEN_ENDED = (
    "spark.databricks.",  # Delta's
    "spark.executorEnv.",
    "spark.hadoop.",
    "spark.kubernetes.",
    "spark.metrics.conf.",
    "spark.sql.catalog.",
    "spark.yarn.",
)
"""Below these stand names that others choose, or that Spark learns of when it wants them."""
BY_OLD_NAMES = frozenset(
    {
        "spark.history.fs.updateInterval",
        "spark.io.compression.lz4.block.size",
        "spark.io.compression.snappy.block.size",
        "spark.kryoserializer.buffer.mb",
        "spark.ui.jettyStopTimeout",
    }
)
"""Spark still takes these, does not list them, and has another name that is nearly the same."""
SUBSTITUTED = "${"
"""What has this in it is another value once it is read."""


def check_classic(jvm: Any, conf: Mapping[str, str]) -> None:  # noqa: ANN401 - py4j's objects have no types
    """Raise what is wrong with the settings of the Spark in a JVM, in which a context has been made."""
    config = jvm.org.apache.spark.internal.config
    unknown, problems = [], []
    for name, value in conf.items():
        entry = config.ConfigEntry.findEntry(name)
        if entry is None:
            unknown.append(name)
        elif SUBSTITUTED not in value:
            try:
                entry.valueConverter().apply(value)
            except IllegalArgumentException as problem:
                problems.append(no_value(name, problem))

    def known() -> list[str]:
        entries = getattr(config, "ConfigEntry$")
        names = getattr(entries, "MODULE$").knownConfigs().keySet()
        return str(jvm.java.lang.String.join(" ", names)).split()

    _refuse([*problems, *_misspelt(unknown, known)])


def check_connect(session: "SparkSession", conf: Iterable[str]) -> None:
    """Raise what is wrong with settings that a session on a Connect server has taken."""
    unknown = [name for name in conf if not session.conf.isModifiable(name)]  # one that is known and was set is that
    _refuse([*_misspelt(unknown, lambda: [row["key"] for row in session.sql("SET -v").collect()])])


def no_value(name: str, problem: Exception) -> str:
    """Say that a setting cannot have the value that somebody gave it."""
    return f"The Spark setting {name} cannot have this value: {first_line(problem)}"


def _misspelt(names: Iterable[str], known: Callable[[], list[str]]) -> Iterator[str]:
    """Tell of names that are surely misspelt. What is known is asked for only if it matters."""
    suspicious = [name for name in names if not name.startswith(OPEN_ENDED) and name not in BY_OLD_NAMES]
    all_known = known() if suspicious else []
    for name in suspicious:
        if meaning := meant(name, all_known):
            yield f"Spark {pyspark.__version__} has no setting {name}. Did you mean {meaning}?"


def _refuse(sentences: list[str]) -> None:
    if sentences:
        raise CannotStartError(" ".join(sentences))
