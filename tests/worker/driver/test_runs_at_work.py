"""Runs at work: repeated, at the same time, cancelled, and past their deadline."""

import psutil
import pytest

from penstock_worker.driver.runs import Runs
from penstock_worker.exchange.records import RunName
from penstock_worker.policy.outcome import Outcome, Verdict
from tests.testbed.waiting import eventually
from tests.worker.driver.driving import LONG_SECONDS, RunningDriver, handed, rows

LARGE_BYTES = 10_000


def counted(driver: RunningDriver) -> list[str]:
    """Return the batch of each run of the job `count`."""
    file = driver.jobs_folder / "counted"
    return file.read_text().splitlines() if file.exists() else []


def test_a_known_run_answers_again_without_running_again(driver: RunningDriver) -> None:
    batch = handed("count")
    assert driver.run_batch(batch) == driver.run_batch(batch)
    assert counted(driver).count(batch.name.batch_id) == 1
    driver.client.forget(batch.name)
    driver.run_batch(batch)
    assert counted(driver).count(batch.name.batch_id) == 2


def test_a_finished_run_keeps_no_message_in_memory() -> None:
    """An engine that died may never ask for the outcome or have the run forgotten."""
    runs = Runs()
    run = runs.find_or_begin(handed("count"), rows(("a" * LARGE_BYTES, "b")))
    assert run.rows.get_total_buffer_size() > LARGE_BYTES
    runs.end(run, Outcome(Verdict.OK, 0.0))
    assert runs.find(run.name) is run
    assert run.rows.get_total_buffer_size() < LARGE_BYTES


def test_two_batches_at_once_share_neither_settings_nor_views(driver: RunningDriver) -> None:
    pair = [handed("set_and_look", ranges=((number, number),)) for number in (1, 2)]
    outcomes = [driver.begin(batch) for batch in pair]
    assert [outcome.result().verdict for outcome in outcomes] == [Verdict.OK] * 2
    assert [driver.written(batch).read_text() for batch in pair] == ["('11', 1)", "('12', 2)"]


def test_runs_that_hang_in_spark_are_cancelled_and_so_is_one_that_waits_for_a_slot(driver: RunningDriver) -> None:
    at_work = [handed("hang_in_spark"), handed("hang_in_spark_and_begin_again")]
    outcomes = [driver.begin_and_wait(batch) for batch in at_work]
    waiting = handed("count")
    last = driver.begin(waiting)

    def is_cancelled() -> bool:
        driver.client.cancel(waiting.name)  # which has no effect before the run has arrived
        return last.done()

    eventually(is_cancelled, "the waiting run is cancelled", LONG_SECONDS)
    assert last.result().verdict is Verdict.CANCELLED
    for batch in at_work:
        driver.client.cancel(batch.name)
    assert {outcome.result().verdict for outcome in outcomes} == {Verdict.CANCELLED}
    assert waiting.name.batch_id not in counted(driver)
    assert driver.run("count").verdict is Verdict.OK


def test_a_run_past_its_deadline_is_cancelled(driver: RunningDriver) -> None:
    outcome = driver.run("hang_in_spark", deadline_seconds=2.0)
    assert outcome.verdict is Verdict.DEADLINE
    assert outcome.fault is not None


def test_a_second_run_of_a_batch_stops_the_first_and_waits_for_its_end(driver: RunningDriver) -> None:
    first = handed("hang_in_spark")
    outcome = driver.begin_and_wait(first)
    second = handed("count", name=RunName(first.name.batch_id, 2))
    assert driver.run_batch(second).verdict is Verdict.OK
    assert outcome.result().verdict is Verdict.CANCELLED


@pytest.mark.full
def test_hundreds_of_batches_leave_no_threads_or_files_behind(driver: RunningDriver) -> None:
    for _ in range(100):  # each may add a thread to the pools of 100 with which Spark clears up
        driver.run("aggregate")
    processes = [psutil.Process(driver.program.pid), driver.jvm()]
    before = [(process.num_threads(), process.num_fds()) for process in processes]
    for _ in range(100):
        assert driver.run("aggregate").verdict is Verdict.OK
    after = [(process.num_threads(), process.num_fds()) for process in processes]
    for (threads, files), (threads_before, files_before) in zip(after, before, strict=True):
        assert threads <= threads_before + 16
        assert files <= files_before + 16
