"""A driver that loses Spark starts it again; each fault is real."""

import pyarrow.parquet as pq
import pytest

from penstock_worker.policy.outcome import Verdict
from tests.testbed.processes import words
from tests.testbed.waiting import eventually
from tests.worker.driver.driving import LONG_SECONDS, QUICK, RunningDriver, handed


def test_a_jvm_killed_mid_batch_is_replaced_and_functions_of_the_module_still_work(driver: RunningDriver) -> None:
    described, killed = driver.describe(), driver.jvm()
    assert driver.run("use_top_level_udf").verdict is Verdict.OK
    outcome = driver.begin_and_wait(handed("hang_in_spark"))
    killed.kill()
    assert outcome.result().verdict is Verdict.ENGINE_LOST
    driver.wait_ready()
    assert driver.jvm() != killed
    assert driver.describe() == described
    after = handed("use_top_level_udf")
    assert driver.run_batch(after).verdict is Verdict.OK
    assert pq.read_table(driver.written(after))["subject"].to_pylist() == ["A", "B"]


@pytest.mark.full
def test_an_idle_jvm_that_is_killed_is_replaced(driver: RunningDriver) -> None:
    def losses() -> int:
        return driver.program.log.read_text().count("Spark is lost: ")

    before = losses()
    driver.jvm().kill()
    eventually(lambda: losses() > before, "the loss is known", LONG_SECONDS)
    driver.wait_ready()
    assert driver.run("aggregate").verdict is Verdict.OK


@pytest.mark.full
def test_code_that_exhausts_the_memory_of_spark_or_stops_it_loses_it(driver: RunningDriver) -> None:
    assert driver.run("out_of_memory").verdict is Verdict.ENGINE_LOST
    driver.wait_ready()
    outcome = driver.run("stop_spark")
    assert outcome.verdict is Verdict.ENGINE_LOST
    assert outcome.fault is not None
    assert "leave out spark.stop()" in outcome.fault.message
    driver.wait_ready()
    assert driver.run("aggregate").verdict is Verdict.OK


@pytest.mark.full
def test_a_batch_whose_executor_is_killed_still_succeeds() -> None:
    conf = {**QUICK, "spark.executor.memory": "512m", "spark.scheduler.minRegisteredResourcesRatio": "1.0"}
    conf["spark.executor.extraJavaOptions"] = QUICK["spark.driver.extraJavaOptions"]
    with RunningDriver("driver-cluster", master="local-cluster[2,1,768]", conf=conf) as driver:

        def executors() -> set[object]:
            return {each for each in driver.children() if "CoarseGrainedExecutorBackend" in " ".join(words(each))}

        driver.wait_ready()
        assert driver.run("use_top_level_udf").verdict is Verdict.OK  # executors import the user's modules as well
        before = executors()
        next(each for each in driver.children() if each in before).kill()
        outcome = driver.run_batch(handed("use_top_level_udf", 4), ("a", "b", "c", "d"))
        assert (outcome.verdict, outcome.fault) == (Verdict.OK, None)
        eventually(lambda: executors() - before, "a new executor", LONG_SECONDS)
