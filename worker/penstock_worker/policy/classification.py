"""What an error means for its batch: whether a message is to blame, the code, Spark, or nobody.

Decides by class names, Spark's error conditions, SQLSTATEs and gRPC's status codes, never by what an error says: its
text quotes payloads, so whoever publishes a message could choose the verdict. Does not know how these are found out
(spark/facts.py), nor what follows (the engine's machine).
"""

from collections.abc import Sequence

from penstock_worker.policy.outcome import Verdict

DATA_STATES = ("22", "P0", "38")
"""Bad values; what raise_error raises; what a Python function raises."""
CODE_STATES = ("42", "46", "0A", "56", "07")
"""Names, syntax and settings that are wrong; what Spark does not support."""
CONDITIONS = {
    "SPARK_JOB_CANCELLED": Verdict.DEADLINE,
    "OPERATION_CANCELED": Verdict.DEADLINE,
    "SESSION_NOT_FOUND": Verdict.ENGINE_LOST,
    "SESSION_CLOSED": Verdict.ENGINE_LOST,
    "SESSION_CHANGED": Verdict.ENGINE_LOST,
    "NO_ACTIVE_SESSION": Verdict.ENGINE_LOST,
    # pyspark's Connect client raises it when an operation is gone, or when an error's text has the words for that.
    "RESPONSE_ALREADY_RECEIVED": Verdict.TRANSIENT,
}
"""By the last part of an error condition."""
LOST_CLASSES = (
    "Py4JNetworkError",
    "OutOfMemoryError",
    "SparkOutOfMemoryError",
)
"""Classes that tell of a JVM that is gone, or is not to be trusted any more.

None of Python's own for broken connections: those are of what the code talks to. A JVM that is gone is noticed anyway.
"""
LOST_STATUS = "UNAVAILABLE"
"""What gRPC says of a Connect server that is gone."""
PYTHON_CLASSES = ("PythonException",)
"""A function of the user's that ran beside Spark raised something. Spark Connect gives it no SQLSTATE."""
CODE_IN_PYTHON = frozenset({"ModuleNotFoundError", "ImportError", "PicklingError", "PYTHON_VERSION_MISMATCH"})
"""What such a function raises if no message is to blame: Spark could not even run it."""
PASSING_CLASSES = (
    "Py4JJavaError",
    "Py4JError",
    "SparkException",
    "SparkConnectGrpcException",
    "OSError",
    "ConcurrentT",
)
CODE_CLASSES = ("AnalysisException", "ParseException")


def classify(
    classes: Sequence[str],
    condition: str | None,
    sqlstate: str | None,
    *,
    status: str | None = None,
    raised: Sequence[str] = (),
) -> Verdict:
    """Return the verdict on an error.

    `classes` are full names, of its ancestors and causes too; `status` is gRPC's; `raised` is what a Python function
    of Spark's raised, and what that was raised from.
    """
    names = [name.rpartition(".")[2] for name in classes]
    decided = CONDITIONS.get((condition or "").rpartition(".")[2])
    if decided is not None:
        return decided
    if status == LOST_STATUS or any(name in names for name in LOST_CLASSES):
        return Verdict.ENGINE_LOST
    if any(name in names for name in PYTHON_CLASSES):
        return Verdict.CODE if raised and CODE_IN_PYTHON.issuperset(raised) else Verdict.DATA
    if sqlstate is not None and sqlstate.startswith(DATA_STATES):
        return Verdict.DATA
    if (sqlstate is not None and sqlstate.startswith(CODE_STATES)) or any(name in names for name in CODE_CLASSES):
        return Verdict.CODE
    return Verdict.TRANSIENT if any(name.startswith(PASSING_CLASSES) for name in names) else Verdict.CODE
