"""The verdict on an error by its classes, text and condition; the driver's tests have real Spark raise them."""

import pytest

from penstock_worker.policy.classification import classify
from penstock_worker.policy.outcome import Verdict

SPARK = "pyspark.errors.exceptions.captured."
JOB_FAILED = ("py4j.protocol.Py4JJavaError", "org.apache.spark.SparkException")
CASES = [
    ((f"{SPARK}NumberFormatException",), "", "CAST_INVALID_INPUT", "22018", Verdict.DATA),
    ((f"{SPARK}SparkRuntimeException",), "bad row", "USER_RAISED_EXCEPTION", "P0001", Verdict.DATA),
    ((*JOB_FAILED, "org.apache.spark.SparkNumberFormatException"), "", "X", "22018", Verdict.DATA),
    ((f"{SPARK}PythonException",), "ValueError: bad", "PYTHON_EXCEPTION", "38000", Verdict.DATA),
    (("pyspark.errors.exceptions.connect.PythonException",), "ValueError: bad", None, None, Verdict.DATA),
    ((f"{SPARK}PythonException",), "ModuleNotFoundError: No module named 'x'", "P", "38000", Verdict.CODE),
    ((f"{SPARK}PythonException",), "[PYTHON_VERSION_MISMATCH]", "P", "38000", Verdict.CODE),
    ((f"{SPARK}AnalysisException",), "no column", "UNRESOLVED_COLUMN", "42703", Verdict.CODE),
    ((f"{SPARK}ParseException",), "selekt", "PARSE_SYNTAX_ERROR", "42601", Verdict.CODE),
    ((f"{SPARK}AnalysisException",), "no state", None, None, Verdict.CODE),
    (("builtins.TypeError", "builtins.Exception"), "len", None, None, Verdict.CODE),
    (("builtins.SystemExit",), "5", None, None, Verdict.CODE),
    (JOB_FAILED, "Python worker exited unexpectedly (crashed)", None, None, Verdict.TRANSIENT),
    (("builtins.TimeoutError", "builtins.OSError"), "", None, None, Verdict.TRANSIENT),
    (("builtins.ConnectionRefusedError", "builtins.OSError"), "", None, None, Verdict.ENGINE_LOST),
    (("py4j.protocol.Py4JNetworkError", "py4j.protocol.Py4JError"), "", None, None, Verdict.ENGINE_LOST),
    ((*JOB_FAILED, "java.lang.OutOfMemoryError"), "Java heap space", None, None, Verdict.ENGINE_LOST),
    (("a.SparkConnectGrpcException",), "gone", "INVALID_HANDLE.SESSION_NOT_FOUND", "HY000", Verdict.ENGINE_LOST),
    (("a.PySparkRuntimeError",), "", "RESPONSE_ALREADY_RECEIVED", None, Verdict.ENGINE_LOST),
    (JOB_FAILED, "cancelled", "SPARK_JOB_CANCELLED", "XXKDA", Verdict.DEADLINE),
    (("a.SparkConnectGrpcException",), "", "OPERATION_CANCELED", "HY008", Verdict.DEADLINE),
]


def test_an_error_has_its_verdict(subtests: pytest.Subtests) -> None:
    for classes, text, condition, sqlstate, verdict in CASES:
        with subtests.test(f"{classes[-1]} {text} {condition}"):
            assert classify(classes, text, condition, sqlstate) is verdict
