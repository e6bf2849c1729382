"""The verdict on an error by its classes, condition and states. The driver's tests prove others with real Spark."""

import pytest

from penstock_worker.policy.classification import classify
from penstock_worker.policy.outcome import Verdict

SPARK = "pyspark.errors.exceptions.captured."
CONNECT = "pyspark.errors.exceptions.connect."
JOB_FAILED = ("py4j.protocol.Py4JJavaError", "org.apache.spark.SparkException")
CASES = [
    ((f"{SPARK}NumberFormatException",), "CAST_INVALID_INPUT", "22018", Verdict.DATA),
    ((f"{SPARK}ParseException",), "PARSE_SYNTAX_ERROR", "42601", Verdict.CODE),
    ((f"{SPARK}AnalysisException",), None, None, Verdict.CODE),
    (("builtins.TimeoutError", "builtins.OSError"), None, None, Verdict.TRANSIENT),
    (("builtins.ConnectionRefusedError", "builtins.OSError"), None, None, Verdict.TRANSIENT),
    (("py4j.protocol.Py4JNetworkError", "py4j.protocol.Py4JError"), None, None, Verdict.ENGINE_LOST),
    ((*JOB_FAILED, "java.lang.OutOfMemoryError"), None, None, Verdict.ENGINE_LOST),
    ((f"{CONNECT}SparkConnectGrpcException",), "INVALID_HANDLE.SESSION_NOT_FOUND", "HY000", Verdict.ENGINE_LOST),
    (("a.PySparkRuntimeError",), "RESPONSE_ALREADY_RECEIVED", None, Verdict.TRANSIENT),
    (JOB_FAILED, "SPARK_JOB_CANCELLED", "XXKDA", Verdict.DEADLINE),
    ((f"{CONNECT}UnknownException",), "OPERATION_CANCELED", "HY008", Verdict.DEADLINE),
    (("_pickle.PicklingError",), None, None, Verdict.CODE),
]
RAISED = [
    (("ValueError",), Verdict.DATA),
    (("ModuleNotFoundError",), Verdict.CODE),
    (("ModuleNotFoundError", "ImportError"), Verdict.CODE),
    (("ImportError", "ValueError"), Verdict.DATA),
    (("ValueError", "ImportError"), Verdict.DATA),
    (("PYTHON_VERSION_MISMATCH",), Verdict.CODE),
    ((), Verdict.DATA),
]


def test_an_error_has_its_verdict(subtests: pytest.Subtests) -> None:
    for classes, condition, sqlstate, verdict in CASES:
        with subtests.test(f"{classes[-1]} {condition}"):
            assert classify(classes, condition, sqlstate) is verdict
    for status, verdict in (("UNAVAILABLE", Verdict.ENGINE_LOST), ("INTERNAL", Verdict.TRANSIENT)):
        with subtests.test(status):
            assert classify([f"{CONNECT}SparkConnectGrpcException"], None, None, status=status) is verdict


def test_an_error_of_a_python_function_is_judged_by_all_that_was_raised(subtests: pytest.Subtests) -> None:
    for raised, verdict in RAISED:
        with subtests.test(" ".join(raised)):
            assert classify([f"{CONNECT}PythonException"], None, None, raised=raised) is verdict
            assert classify([f"{SPARK}PythonException"], "PYTHON_EXCEPTION", "38000", raised=raised) is verdict
