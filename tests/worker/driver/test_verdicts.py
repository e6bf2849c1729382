"""What a run comes to, by what the user's code does with real Spark."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock_worker.exchange.client import DriverFaultError
from penstock_worker.exchange.columns import COLUMNS
from penstock_worker.policy.outcome import Rejection, Verdict
from tests.worker.driver.driving import LONG_SECONDS, START_SECONDS, RunningDriver, handed, rows

pytestmark = [pytest.mark.timeout(2 * START_SECONDS), pytest.mark.xdist_group("driver-local")]


def test_the_function_is_given_the_messages_as_they_are(driver: RunningDriver) -> None:
    batch, table = handed("write", 2), rows(("a", "é"))
    outcome = driver.client.run(batch, table, timeout_seconds=START_SECONDS)
    assert (outcome.verdict, outcome.fault) == (Verdict.OK, None)
    written = pq.read_table(driver.jobs_folder / batch.name.batch_id).sort_by("seq")
    assert written.cast(COLUMNS).to_pylist() == table.to_pylist()  # Parquet's old timestamps have no zone


def test_what_the_code_rejects_is_told(driver: RunningDriver) -> None:
    outcome = driver.run("reject_some")
    assert (outcome.verdict, outcome.rejections) == (Verdict.OK, (Rejection(1, "no amount"),))


def test_a_retry_tells_when(driver: RunningDriver) -> None:
    outcome = driver.run("raise_retry")
    assert (outcome.verdict, outcome.retry_after_seconds) == (Verdict.TRANSIENT, 7)


@pytest.mark.parametrize(
    ("job", "verdict"),
    [
        ("raise_reject", Verdict.DATA),
        ("bad_cast", Verdict.DATA),
        ("bad_cast_on_write", Verdict.DATA),
        ("raise_in_sql", Verdict.DATA),
        ("fail_fast", Verdict.DATA),
        ("udf_raises", Verdict.DATA),
        ("udf_raises_on_write", Verdict.DATA),
        ("udf_raises_and_is_wrapped", Verdict.DATA),
        ("wrong_column", Verdict.CODE),
        ("type_error", Verdict.CODE),
        ("leave", Verdict.CODE),
        ("missing_path", Verdict.CODE),
        ("missing_module", Verdict.CODE),
        ("python_worker_dies", Verdict.TRANSIENT),
        ("unwritable_path", Verdict.TRANSIENT),
    ],
)
def test_an_error_has_the_verdict_of_its_kind(driver: RunningDriver, job: str, verdict: Verdict) -> None:
    outcome = driver.run(job)
    assert outcome.verdict is verdict, outcome
    assert outcome.fault is not None
    assert outcome.fault.message


def test_a_fault_names_the_line_of_the_users_code(driver: RunningDriver) -> None:
    fault = driver.run("wrong_column").fault
    assert fault is not None
    assert fault.place is not None
    file, _, line = fault.place.rpartition(":")
    assert Path(file) == Path(__file__).with_name("code") / "jobs.py"
    assert "no_such_column" in Path(file).read_text().splitlines()[int(line) - 1]
    assert fault.condition is not None
    assert fault.condition.startswith("UNRESOLVED_COLUMN")
    assert (fault.type, fault.sqlstate) == ("AnalysisException", "42703")


def test_the_users_settings_go_before_ours(driver: RunningDriver) -> None:
    batch = handed("settings_seen")
    driver.client.run(batch, rows(("a",)), timeout_seconds=START_SECONDS)
    assert (driver.jobs_folder / batch.name.batch_id).read_text() == repr(["UTC", "2", "ours"])


def test_where_each_batch_at_once_has_a_core_it_is_one_task_and_needs_no_shuffle(driver: RunningDriver) -> None:
    batch = handed("tell_plan")
    outcome = driver.client.run(batch, rows(("a", "b")), timeout_seconds=LONG_SECONDS)
    assert outcome.verdict is Verdict.OK, outcome
    assert (driver.jobs_folder / batch.name.batch_id).read_text() == "1 False"


def test_what_the_code_sends_is_fetched_until_it_is_forgotten(driver: RunningDriver) -> None:
    batch = handed("send")
    outcome = driver.client.run(batch, rows(("a", "b")), timeout_seconds=START_SECONDS)
    assert (outcome.verdict, outcome.outgoing) == (Verdict.OK, 2)
    table = driver.client.outgoing(batch.name, timeout_seconds=START_SECONDS)
    assert sorted(table["data"].to_pylist()) == [b"a", b"b"]
    driver.client.forget(batch.name)
    with pytest.raises(DriverFaultError, match="is not known here"):
        driver.client.outgoing(batch.name, timeout_seconds=START_SECONDS)


def test_staged_files_are_published_before_the_outcome_is_told_and_dropped_after_a_failure(
    driver: RunningDriver,
) -> None:
    base = driver.jobs_folder / "published"
    assert driver.run("stage_and_fail").verdict is Verdict.TRANSIENT
    assert list(base.rglob("*.parquet")) == []
    batch = handed("publish_files")
    driver.client.run(batch, rows(("a", "b")), timeout_seconds=START_SECONDS)
    assert pq.read_table(base / f"batch={batch.name.batch_id}").num_rows == 2
