"""A driver's life: runs at once, cancelled, repeated, after a loss; each fault is real."""

import signal
from concurrent.futures import Future, ThreadPoolExecutor

import psutil
import pyarrow.parquet as pq
import pytest

from penstock_worker.exchange.records import Handed, RunName
from penstock_worker.policy.outcome import Outcome, Verdict
from tests.testbed.reaper import is_alive
from tests.testbed.waiting import eventually
from tests.worker.driver.driving import LONG_SECONDS, START_SECONDS, RunningDriver, handed, rows

pytestmark = [pytest.mark.timeout(2 * START_SECONDS), pytest.mark.xdist_group("driver-local")]
TEXTS = ("a", "b")


def begin(pool: ThreadPoolExecutor, driver: RunningDriver, batch: Handed) -> "Future[Outcome]":
    return pool.submit(driver.client.run, batch, rows(TEXTS), timeout_seconds=LONG_SECONDS)


def begun(driver: RunningDriver) -> list[str]:
    """Return the batches whose counting has begun, each as often as it has."""
    counted = driver.jobs_folder / "counted"
    return counted.read_text().splitlines() if counted.exists() else []


def test_a_run_that_is_known_is_told_again_and_not_begun_again(driver: RunningDriver) -> None:
    batch = handed("count")
    first, second = (driver.client.run(batch, rows(TEXTS), timeout_seconds=LONG_SECONDS) for _ in range(2))
    assert first == second
    assert begun(driver).count(batch.name.batch_id) == 1
    driver.client.forget(batch.name)
    driver.client.run(batch, rows(TEXTS), timeout_seconds=LONG_SECONDS)
    assert begun(driver).count(batch.name.batch_id) == 2


def test_two_batches_at_once_share_neither_settings_nor_views(driver: RunningDriver, pool: ThreadPoolExecutor) -> None:
    pair = [handed("set_and_look", ranges=((number, number),)) for number in (1, 2)]
    outcomes = [begin(pool, driver, batch) for batch in pair]
    assert [outcome.result().verdict for outcome in outcomes] == [Verdict.OK] * 2
    seen = [(driver.jobs_folder / batch.name.batch_id).read_text() for batch in pair]
    assert seen == ["('11', 1)", "('12', 2)"]


@pytest.mark.parametrize("job", ["hang_in_spark", "hang_in_spark_and_begin_again"])
def test_a_run_that_hangs_in_spark_is_cancelled(driver: RunningDriver, pool: ThreadPoolExecutor, job: str) -> None:
    batch = handed(job)
    outcome = begin(pool, driver, batch)
    driver.wait_said(f"{batch.name.batch_id} hangs")
    driver.client.cancel(batch.name)
    assert outcome.result().verdict is Verdict.CANCELLED
    assert driver.run("count").verdict is Verdict.OK


def test_a_run_past_its_deadline_is_cancelled(driver: RunningDriver) -> None:
    outcome = driver.run("hang_in_spark", deadline_seconds=2.0)
    assert outcome.verdict is Verdict.DEADLINE
    assert outcome.fault is not None


def test_a_run_that_waits_for_a_slot_is_cancelled_without_being_begun(
    driver: RunningDriver, pool: ThreadPoolExecutor
) -> None:
    at_work, waiting = [handed("hang_in_spark") for _ in range(2)], handed("count")
    outcomes = [begin(pool, driver, batch) for batch in at_work]
    for batch in at_work:
        driver.wait_said(f"{batch.name.batch_id} hangs")
    last = begin(pool, driver, waiting)
    while not last.done():  # it may not have arrived yet, and what is not known cannot be cancelled
        driver.client.cancel(waiting.name)
    assert last.result().verdict is Verdict.CANCELLED
    for batch in at_work:
        driver.client.cancel(batch.name)
    assert {outcome.result().verdict for outcome in outcomes} == {Verdict.CANCELLED}
    assert waiting.name.batch_id not in begun(driver)


def test_a_second_run_of_a_batch_stops_the_first_and_waits_for_its_end(
    driver: RunningDriver, pool: ThreadPoolExecutor
) -> None:
    first = handed("hang_in_spark")
    second = handed("count", name=RunName(first.name.batch_id, 2))
    outcome = begin(pool, driver, first)
    driver.wait_said(f"{first.name.batch_id} hangs")
    assert begin(pool, driver, second).result().verdict is Verdict.OK
    assert outcome.result().verdict is Verdict.CANCELLED


def test_a_jvm_that_is_killed_mid_batch_is_replaced_and_top_level_udfs_work_on(
    driver: RunningDriver, pool: ThreadPoolExecutor
) -> None:
    said, killed = driver.describe(), driver.jvm()
    assert driver.run("use_top_level_udf").verdict is Verdict.OK
    batch = handed("hang_in_spark")
    outcome = begin(pool, driver, batch)
    driver.wait_said(f"{batch.name.batch_id} hangs")
    killed.kill()
    assert outcome.result().verdict is Verdict.ENGINE_LOST
    driver.wait_ready()
    assert driver.jvm() != killed
    assert driver.describe() == said
    after = handed("use_top_level_udf")
    assert driver.client.run(after, rows(TEXTS), timeout_seconds=LONG_SECONDS).verdict is Verdict.OK
    assert pq.read_table(driver.jobs_folder / after.name.batch_id)["subject"].to_pylist() == ["A", "B"]


def test_a_jvm_that_is_killed_while_nothing_runs_is_replaced(driver: RunningDriver) -> None:
    losses = driver.losses()
    driver.jvm().kill()
    eventually(lambda: driver.losses() > losses, "the loss is known", LONG_SECONDS)
    driver.wait_ready()
    assert driver.run("aggregate").verdict is Verdict.OK


def test_a_jvm_without_memory_is_lost_and_replaced(driver: RunningDriver) -> None:
    assert driver.run("out_of_memory").verdict is Verdict.ENGINE_LOST
    driver.wait_ready()
    assert driver.run("aggregate").verdict is Verdict.OK


def test_code_that_stops_spark_is_told_so_and_others_go_on(driver: RunningDriver) -> None:
    outcome = driver.run("stop_spark")
    assert outcome.verdict is Verdict.ENGINE_LOST
    assert outcome.fault is not None
    assert "leave out spark.stop()" in outcome.fault.message
    driver.wait_ready()
    assert driver.run("aggregate").verdict is Verdict.OK


def test_after_hundreds_of_batches_threads_and_files_are_as_many_as_before(driver: RunningDriver) -> None:
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


def test_told_to_end_it_finishes_what_it_has_and_takes_no_more(driver: RunningDriver, pool: ThreadPoolExecutor) -> None:
    batch = handed("wait_for_a_file")
    outcome = begin(pool, driver, batch)
    driver.wait_said(f"{batch.name.batch_id} waits")
    its_end = pool.submit(driver.client.await_end)
    driver.program.send(signal.SIGTERM)
    said = its_end.result(LONG_SECONDS)
    assert (said.ending, said.ready, said.why_not) == (True, False, "The driver ends.")
    (driver.jobs_folder / "go-on").touch()
    assert outcome.result().verdict is Verdict.OK
    assert driver.program.wait_ended(LONG_SECONDS) == 0


def test_a_signal_that_comes_to_another_thread_than_the_main_one_ends_it_as_well(driver: RunningDriver) -> None:
    batch = handed("have_this_thread_hear_the_signal")
    assert driver.client.run(batch, rows(TEXTS), timeout_seconds=LONG_SECONDS).verdict is Verdict.OK
    assert driver.program.wait_ended(LONG_SECONDS) == 0


def test_a_driver_that_the_engine_has_given_up_ends_with_its_spark(driver: RunningDriver) -> None:
    jvm = driver.jvm()
    driver.client.end()
    assert driver.program.wait_ended(LONG_SECONDS) == 1
    eventually(lambda: not is_alive(jvm), "its JVM ends", LONG_SECONDS)


def test_a_function_that_hangs_in_plain_python_ends_the_process_once_its_run_is_told() -> None:
    with RunningDriver("driver-hung", hang_seconds=1.0) as driver:
        driver.wait_ready()
        jvm = driver.jvm()
        batch = handed("hang_in_python", deadline_seconds=1.0)
        outcome = driver.client.run(batch, rows(TEXTS), timeout_seconds=LONG_SECONDS)
        assert outcome.verdict is Verdict.DEADLINE
        assert driver.program.wait_ended(LONG_SECONDS) == 1
        eventually(lambda: not is_alive(jvm), "its JVM ends", LONG_SECONDS)
