"""The verdict on an error by its classes, text and condition. The driver's tests prove others with real Spark."""

import pytest

from penstock_worker.policy.classification import classify
from penstock_worker.policy.outcome import Verdict

SPARK = "pyspark.errors.exceptions.captured."
JOB_FAILED = ("py4j.protocol.Py4JJavaError", "org.apache.spark.SparkException")
CASES = [
    (("pyspark.errors.exceptions.connect.PythonException",), "ValueError: bad", None, None, Verdict.DATA),
    ((f"{SPARK}PythonException",), "[PYTHON_VERSION_MISMATCH]", "P", "38000", Verdict.CODE),
    ((f"{SPARK}ParseException",), "selekt", "PARSE_SYNTAX_ERROR", "42601", Verdict.CODE),
    ((f"{SPARK}AnalysisException",), "no state", None, None, Verdict.CODE),
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
