"""What differs between the pysparks that we run on, 4.0 to 4.3 and the client without a JVM: all of it is here.

Knows which names a pyspark may lack. Everything else in this package is the same for all of them.
"""

import importlib.util
import logging
from contextlib import suppress
from typing import Any

from pyspark.errors import PySparkException

HAS_JVM = importlib.util.find_spec("py4j") is not None
"""pyspark-client has no JVM, and no py4j to speak to one."""

BROKEN_CALL: tuple[type[Exception], ...] = (OSError, PySparkException)
"""What a call to Spark may end with; above all when it is going, or gone."""

if HAS_JVM:
    from py4j.protocol import Py4JError

    BROKEN_CALL = (*BROKEN_CALL, Py4JError)


QUOTING = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""pyspark's loggers of each error that it raises: whole, with values, plans and the JVM's stack."""


def silence_errors() -> None:
    """Have pyspark log no error on its own: who catches it says what may be said."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 - slow to import

    for name in QUOTING:
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


def import_all() -> None:
    """Import what pyspark itself does only at its first call to the JVM, as its converters of arguments have it."""
    with suppress(ImportError):
        importlib.import_module("pyspark.testing.utils")


def java_throwable(error: BaseException) -> Any:  # noqa: ANN401 - py4j's objects have no types
    """Return the JVM's own error behind one of Python, or None."""
    return getattr(error, "java_exception", None) or getattr(error, "_origin", None)


def is_of_spark(error: BaseException) -> bool:
    """Tell whether Spark, or the way to it, raised the error."""
    return isinstance(error, BROKEN_CALL) or type(error).__module__.partition(".")[0] == "grpc"
