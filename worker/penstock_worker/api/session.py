"""The two kinds of Spark session behind one face: classic, with a JVM of its own, and Connect, with none.

Knows how to tell them apart, and which of pyspark's modules belong to which. pyspark's own choice is made once for a
whole process; ours is made for each session. Does not know what is done with them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def is_connect(spark: SparkSession) -> bool:
    """Tell whether the session is that of a Connect server: its client reaches no JVM."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def functions(spark: SparkSession) -> Any:  # noqa: ANN401 - a module of pyspark, which has no types that we check
    """Return pyspark's functions for columns of this session."""
    return importlib.import_module("pyspark.sql.connect.functions" if is_connect(spark) else "pyspark.sql.functions")


def observation(spark: SparkSession) -> Any:  # noqa: ANN401 - as above
    """Return a new observation for a frame of this session."""
    package = "pyspark.sql.connect.observation" if is_connect(spark) else "pyspark.sql.observation"
    return importlib.import_module(package).Observation()


def is_frame(value: object) -> TypeGuard[DataFrame]:
    """Tell whether it is a DataFrame, of either kind."""
    return hasattr(value, "sparkSession")
