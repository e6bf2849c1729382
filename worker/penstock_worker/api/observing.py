"""What an observed frame said of its rows while the user's own job read them, without a job of ours.

Knows how classic and Connect tell it, and that they may have nothing to tell: no job ran over the frame, or none over
all of it, or its event has not come yet. Does not know what was asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock_worker.api.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DELIVERY_MILLISECONDS = 1000
"""A classic session tells it by an event after the job. If that is later than this, the frame is read once more."""


def observed(spark: SparkSession, observation: Any) -> dict[str, Any] | None:  # noqa: ANN401 - pyspark's
    """Return what the first job over the frame observed, or None; never waits for a job that nobody runs."""
    if not is_connect(spark) and not _told(spark, observation):
        return None
    values: dict[str, Any] = observation.get
    return values or None


def _told(spark: SparkSession, observation: Any) -> bool:  # noqa: ANN401 - pyspark's
    """Wait a little for the event. pyspark itself only waits for ever, so its promise is looked at."""
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - a Connect client has none

    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - pyspark shows its JVM nowhere else
    java = observation._jo  # noqa: SLF001 - nor what is behind an observation
    field = java.getClass().getDeclaredField("promise")
    field.setAccessible(True)
    limit = jvm.scala.concurrent.duration.Duration.create(DELIVERY_MILLISECONDS, "millis")
    try:
        told = jvm.scala.concurrent.Await.ready(field.get(java).future(), limit).value().get()
    except Py4JJavaError as problem:
        if problem.java_exception.getClass().getName() == "java.util.concurrent.TimeoutException":
            return False
        raise
    # The row of a job that Spark found to need nothing of the frame has no schema.
    return bool(told.isSuccess()) and told.get().schema() is not None
