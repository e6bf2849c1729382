"""A driver whose executors are processes of their own: one dies, and its batch ends well."""

import psutil
import pytest

from penstock_worker.policy.outcome import Verdict
from tests.testbed.processes import words
from tests.testbed.waiting import eventually
from tests.worker.driver.driving import LONG_SECONDS, QUICK, START_SECONDS, RunningDriver, handed, rows

pytestmark = pytest.mark.timeout(2 * START_SECONDS)
CONF = {**QUICK, "spark.executor.memory": "512m", "spark.scheduler.minRegisteredResourcesRatio": "1.0"}


def executors(driver: RunningDriver) -> list[psutil.Process]:
    return [child for child in driver.children() if "CoarseGrainedExecutorBackend" in " ".join(words(child))]


def test_a_batch_whose_executor_is_killed_is_done_all_the_same() -> None:
    with RunningDriver("driver-cluster", master="local-cluster[2,1,768]", conf=CONF) as driver:
        driver.wait_ready()
        assert driver.run("use_top_level_udf").verdict is Verdict.OK  # executors import the user's modules as well
        first, *_ = before = executors(driver)
        first.kill()
        batch = handed("use_top_level_udf", 4)
        outcome = driver.client.run(batch, rows(("a", "b", "c", "d")), timeout_seconds=LONG_SECONDS)
        assert (outcome.verdict, outcome.fault) == (Verdict.OK, None)
        eventually(lambda: bool(set(executors(driver)) - set(before)), "a new executor", LONG_SECONDS)
