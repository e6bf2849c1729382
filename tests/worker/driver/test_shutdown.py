"""How a driver ends: on a signal, once the engine gives it up, and when the user's code hangs."""

import signal

import pytest

from penstock_worker.policy.outcome import Verdict
from tests.testbed.reaper import is_alive
from tests.testbed.waiting import eventually
from tests.worker.driver.driving import LONG_SECONDS, RunningDriver, handed


@pytest.mark.interpreter
def test_sigterm_lets_the_run_finish_and_the_driver_takes_no_more(driver: RunningDriver) -> None:
    outcome = driver.begin_and_wait(handed("wait_for_a_test"))
    its_end = driver.calls.submit(driver.client.await_end)
    driver.program.send(signal.SIGTERM)
    described = its_end.result(LONG_SECONDS)
    assert (described.ending, described.ready, described.why_not) == (True, False, "The driver ends.")
    (driver.jobs_folder / "pipe").write_text("go on")
    assert outcome.result().verdict is Verdict.OK
    assert driver.program.wait_ended(LONG_SECONDS) == 0


@pytest.mark.full
def test_a_signal_that_another_thread_receives_ends_the_driver(driver: RunningDriver) -> None:
    batch = handed("signal_this_thread")
    assert driver.run_batch(batch).verdict is Verdict.OK
    assert driver.program.wait_ended(LONG_SECONDS) == 0


@pytest.mark.full
def test_a_driver_that_the_engine_gives_up_ends_with_its_spark(driver: RunningDriver) -> None:
    jvm = driver.jvm()
    driver.client.end()
    assert driver.program.wait_ended(LONG_SECONDS) == 1
    eventually(lambda: not is_alive(jvm), "its JVM ends", LONG_SECONDS)


@pytest.mark.full
def test_a_function_that_hangs_in_python_ends_the_driver_after_its_outcome_is_known() -> None:
    with RunningDriver("driver-hung", hang_seconds=1.0) as driver:
        driver.wait_ready()
        jvm = driver.jvm()
        outcome = driver.run_batch(handed("hang_in_python", deadline_seconds=1.0))
        assert outcome.verdict is Verdict.DEADLINE
        assert driver.program.wait_ended(LONG_SECONDS) == 1
        eventually(lambda: not is_alive(jvm), "its JVM ends", LONG_SECONDS)
