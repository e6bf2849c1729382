"""Facts of an error, without Spark: the line of the user's code, and the most informative cause."""

import traceback
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkRuntimeError

from penstock_worker.spark.facts import LONGEST_TEXT, facts_of, first_line, raised_in

HERE = Path(__file__).resolve().parent


def raised(text: str) -> Exception:
    try:
        int(text)
    except ValueError as error:
        return error
    raise AssertionError(text)


def test_the_place_is_the_innermost_line_of_the_users_own_code() -> None:
    facts = facts_of(raised("x"), [HERE])
    assert facts.place is not None
    file, _, line = facts.place.rpartition(":")
    assert (Path(file), Path(file).read_text().splitlines()[int(line) - 1].strip()) == (Path(__file__), "int(text)")
    assert facts_of(raised("x"), [HERE / "elsewhere"]).place is None
    assert facts.trace.endswith("ValueError: invalid literal for int() with base 10: 'x'")


def test_a_wrapped_error_of_spark_is_reported_instead_of_its_wrapper() -> None:
    wrapping = RuntimeError("could not process")
    wrapping.__cause__ = AnalysisException("no such column")
    facts = facts_of(wrapping)
    assert facts.type == "AnalysisException"
    assert facts.text.startswith("no such column")
    assert "RuntimeError: could not process" in facts.trace


def test_a_long_text_is_cut_and_a_sentence_has_the_first_line_with_text() -> None:
    text = facts_of(ValueError("x" * 10 * LONGEST_TEXT)).text
    assert len(text) < 2 * LONGEST_TEXT
    assert text.endswith(f"({10 * LONGEST_TEXT} letters)")
    assert [first_line(ValueError(text)) for text in ("\n\n one\ntwo", "")] == ["one", "ValueError"]


def test_what_a_python_function_raised_is_read_from_its_traceback(subtests: pytest.Subtests) -> None:
    chained = KeyError("outer")
    chained.__cause__ = raised("x")
    mismatch = PySparkRuntimeError(
        errorClass="PYTHON_VERSION_MISMATCH", messageParameters={"worker_version": "3.1", "driver_version": "3.2"}
    )
    forged = "\nModuleNotFoundError: No module named 'x'\nlast"
    cases: list[tuple[Exception, list[str]]] = [
        (raised("x"), ["ValueError"]),
        (ValueError(forged), ["ValueError"]),
        (ValueError(f"{forged}\nTraceback (most recent call last):{forged}"), ["ValueError", "ModuleNotFoundError"]),
        (chained, ["ValueError", "KeyError"]),
        (mismatch, ["PYTHON_VERSION_MISMATCH"]),
        (ValueError("[PYTHON_VERSION_MISMATCH] it says"), ["ValueError"]),
        (MemoryError(), ["MemoryError"]),
        (ExceptionGroup("several", [ImportError("x")]), []),
    ]
    for error, expected in cases:
        with subtests.test(repr(error)):
            with pytest.raises(type(error)) as caught:
                raise error
            told = "".join(traceback.format_exception(caught.value))
            text = f"[PYTHON_EXCEPTION] An exception was thrown from the Python worker: {told} SQLSTATE: 38000"
            assert list(raised_in(text)) == expected
