"""What an error means for its batch: whether a message is to blame, the code, Spark, or nobody.

Knows Spark's SQLSTATEs and the names of errors, of Python and of the JVM. Does not know how they are found out
(spark/facts.py), nor what follows (the engine's machine).
"""

from collections.abc import Sequence

from penstock_worker.policy.outcome import Verdict

DATA_STATES = ("22", "P0", "38")
"""Bad values; what raise_error raises; what a Python function raises."""
CODE_STATES = ("42", "46", "0A", "56", "07")
"""Names, syntax and settings that are wrong; what Spark does not support."""
CANCELLED = ("SPARK_JOB_CANCELLED", "OPERATION_CANCELED")
LOST = (
    "SESSION_NOT_FOUND",
    "SESSION_CLOSED",
    "SESSION_CHANGED",
    "RESPONSE_ALREADY_RECEIVED",
    "NO_ACTIVE_SESSION",
    "StatusCode.UNAVAILABLE",
    "OutOfMemoryError",
    "Cannot call methods on a stopped SparkContext",
)
"""Words in a text or condition that tell of a Spark that is gone, or is not to be trusted any more."""
LOST_CLASSES = ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError", "BrokenPipeError")
PYTHON_CLASSES = ("PythonException",)
"""A function of the user's that ran beside Spark raised something. Spark Connect gives it no SQLSTATE."""
CODE_IN_PYTHON = (
    "ModuleNotFoundError",
    "ImportError",
    "PYTHON_VERSION_MISMATCH",
    "PicklingError",
    "cannot pickle",
    "CANNOT_LOAD_PYTHON",
)
"""Words in such an error that tell that no message is to blame: Spark could not even run the function."""
PASSING_CLASSES = (
    "Py4JJavaError",
    "Py4JError",
    "SparkException",
    "SparkConnectGrpcException",
    "OSError",
    "ConcurrentT",
)
CODE_CLASSES = ("AnalysisException", "ParseException")


def classify(classes: Sequence[str], text: str, condition: str | None, sqlstate: str | None) -> Verdict:
    """Return the verdict on an error. `classes` are full names, of its ancestors and causes too."""
    names = [name.rpartition(".")[2] for name in classes]
    signs = f"{condition or ''} {text} {' '.join(classes)}"
    if any(word in signs for word in CANCELLED):
        return Verdict.DEADLINE
    if any(word in signs for word in LOST) or any(name in names for name in LOST_CLASSES):
        return Verdict.ENGINE_LOST
    if any(name in names for name in PYTHON_CLASSES):
        return Verdict.CODE if any(word in text for word in CODE_IN_PYTHON) else Verdict.DATA
    if sqlstate is not None and sqlstate.startswith(DATA_STATES):
        return Verdict.DATA
    if (sqlstate is not None and sqlstate.startswith(CODE_STATES)) or any(name in names for name in CODE_CLASSES):
        return Verdict.CODE
    return Verdict.TRANSIENT if any(name.startswith(PASSING_CLASSES) for name in names) else Verdict.CODE
