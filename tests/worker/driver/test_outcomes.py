"""The outcome of a run, by what the user's code does with real Spark."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock_worker.exchange.client import DriverFaultError
from penstock_worker.exchange.columns import COLUMNS
from penstock_worker.policy.outcome import Rejection, Verdict
from tests.worker.driver.driving import LONG_SECONDS, QUOTING, RunningDriver, assert_words_decide_nothing, handed, rows

SECRET = "s3cret-payload"
JOBS_LINES = Path(__file__).with_name("code").joinpath("jobs.py").read_text().splitlines()
VERDICTS = {
    "raise_reject": Verdict.DATA,
    "bad_cast": Verdict.DATA,
    "bad_cast_on_write": Verdict.DATA,
    "raise_in_sql": Verdict.DATA,
    "fail_fast": Verdict.DATA,
    "udf_raises": Verdict.DATA,
    "udf_raises_on_write": Verdict.DATA,
    "udf_raises_and_is_wrapped": Verdict.DATA,
    "wrong_column": Verdict.CODE,
    "type_error": Verdict.CODE,
    "leave": Verdict.CODE,
    "missing_path": Verdict.CODE,
    "missing_module": Verdict.CODE,
    "unpicklable": Verdict.CODE,
    "python_worker_dies": Verdict.TRANSIENT,
    "unwritable_path": Verdict.TRANSIENT,
}


@pytest.mark.interpreter
def test_function_receives_the_messages_unchanged(driver: RunningDriver) -> None:
    batch, texts = handed("write"), ("a", "é")
    outcome = driver.run_batch(batch, texts)
    assert (outcome.verdict, outcome.fault) == (Verdict.OK, None)
    written = pq.read_table(driver.written(batch)).sort_by("seq")
    assert written.cast(COLUMNS).to_pylist() == rows(texts).to_pylist()  # Parquet's old timestamps have no zone


def test_each_error_has_its_verdict(driver: RunningDriver, subtests: pytest.Subtests) -> None:
    for job, verdict in VERDICTS.items():
        with subtests.test(job):
            outcome = driver.run(job)
            assert outcome.verdict is verdict, outcome
            assert outcome.fault is not None
            assert outcome.fault.message


def test_no_words_of_a_payload_decide_the_verdict(driver: RunningDriver, subtests: pytest.Subtests) -> None:
    assert_words_decide_nothing(driver, subtests)


def test_outcome_carries_rejections_retry_delay_and_the_line_of_the_fault(driver: RunningDriver) -> None:
    rejected, retried, failed = (driver.run(job) for job in ("reject_some", "raise_retry", "wrong_column"))
    assert (rejected.verdict, rejected.rejections) == (Verdict.OK, (Rejection(1, "no amount"),))
    assert (retried.verdict, retried.retry_after_seconds) == (Verdict.TRANSIENT, 7)
    fault = failed.fault
    assert fault is not None
    assert fault.place is not None
    file, _, line = fault.place.rpartition(":")
    assert Path(file) == Path(__file__).with_name("code") / "jobs.py"
    assert "no_such_column" in Path(file).read_text().splitlines()[int(line) - 1]
    assert fault.condition is not None
    assert fault.condition.startswith("UNRESOLVED_COLUMN")
    assert (fault.type, fault.sqlstate) == ("AnalysisException", "42703")


def test_no_value_is_quoted_in_logs_or_in_the_sentence_of_a_fault(driver: RunningDriver) -> None:
    for job in (*QUOTING, "write_cast_data", "raise_reject_with_data"):
        outcome = driver.run_batch(handed(job, 1), (SECRET,))
        assert outcome.fault is not None
        assert SECRET in outcome.fault.message
        assert outcome.fault.type in outcome.fault.sentence
        assert SECRET not in outcome.fault.sentence
    assert SECRET not in driver.program.log.read_text()


def test_wrong_code_is_told_with_its_line_first_and_logged_once_with_its_traceback(driver: RunningDriver) -> None:
    before = len(driver.program.log.read_text())
    faults = [driver.run(job).fault for job in ("wrong_column_made_by_a_helper", "type_error")]
    column, other = (fault.sentence if fault else "" for fault in faults)
    line = 1 + JOBS_LINES.index('    column = F.col("no_such_column")')
    assert re.match(rf"\S+jobs\.py:{line}: AnalysisException: \[UNRESOLVED_COLUMN\S+ A column", column)
    assert re.match(r"\S+jobs\.py:\d+: TypeError: object of type 'int' has no len\(\)\.$", other)
    logged = driver.program.log.read_text()[before:]
    assert "Project [" not in logged
    told = [json.loads(line) for line in logged.splitlines() if "Run failed" in line]
    assert [each["trace"].startswith("Traceback") and "jobs.py" in each["trace"] for each in told] == [True, True]
    assert logged.count("UNRESOLVED_COLUMN") == told[0]["message"].count("UNRESOLVED_COLUMN") + told[0]["trace"].count(
        "UNRESOLVED_COLUMN"
    )


def test_user_settings_win_and_a_batch_with_its_own_core_has_no_shuffle(driver: RunningDriver) -> None:
    for job, expected in (("settings_seen", repr(["UTC", "2", "ours"])), ("tell_plan", "1 False")):
        batch = handed(job)
        assert driver.run_batch(batch).verdict is Verdict.OK
        assert driver.written(batch).read_text() == expected


def test_sent_messages_can_be_fetched_until_the_run_is_forgotten(driver: RunningDriver) -> None:
    batch = handed("send")
    outcome = driver.run_batch(batch)
    assert (outcome.verdict, outcome.outgoing) == (Verdict.OK, 2)
    table = driver.client.outgoing(batch.name, timeout_seconds=LONG_SECONDS)
    assert sorted(table["data"].to_pylist()) == [b"a", b"b"]
    driver.client.forget(batch.name)
    with pytest.raises(DriverFaultError, match="is not known here"):
        driver.client.outgoing(batch.name, timeout_seconds=LONG_SECONDS)


def test_staged_files_are_published_before_the_outcome_and_dropped_after_a_failure(driver: RunningDriver) -> None:
    base = driver.jobs_folder / "published"
    assert driver.run("stage_and_fail").verdict is Verdict.TRANSIENT
    assert list(base.rglob("*.parquet")) == []
    batch = handed("publish_files")
    driver.run_batch(batch)
    assert pq.read_table(base / f"batch={batch.name.batch_id}").num_rows == 2


def test_a_batch_that_another_worker_has_cut_and_written_a_part_of_has_a_verdict_of_its_own(
    driver: RunningDriver,
) -> None:
    whole = handed("publish_files")
    part = handed("publish_files", 1, ancestors=(whole.name.batch_id,))
    assert driver.run_batch(part, ("a",)).verdict is Verdict.OK
    outcome = driver.run_batch(whole)
    assert outcome.verdict is Verdict.CUT
    assert outcome.fault is not None
    assert outcome.fault.told.startswith("BatchCutError: Another worker has cut this batch")
