"""Whether a driver is alive, as a kubelet asks: while Spark starts, or cannot; not when nothing in it moves."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock_worker.driver.liveness import liveness
from penstock_worker.driver.runs import Run
from penstock_worker.policy.outcome import Verdict
from tests.testbed import ports
from tests.testbed.waiting import eventually
from tests.worker.driver.driving import LONG_SECONDS, START_SECONDS, RunningDriver, handed, rows
from tests.worker.probing import fetched

pytestmark = pytest.mark.timeout(2 * START_SECONDS)
ALIVE = (200, "Alive.\n")
HANG_SECONDS = 10.0
QUICK_SECONDS = 2.0
TEXTS = ("a", "b")


@pytest.fixture
def place() -> Iterator[str]:
    port = ports.free_port()
    yield f"{ports.LOOPBACK}:{port}"
    ports.release(port)


def answers(place: str) -> bool:
    try:
        return fetched(place, "/healthz", seconds=QUICK_SECONDS) == ALIVE
    except OSError:
        return False


def test_a_driver_is_alive_while_spark_starts_and_not_while_code_lets_no_other_thread_run(
    place: str, pool: ThreadPoolExecutor
) -> None:
    with RunningDriver("driver-probed", probes=place) as driver:
        eventually(lambda: answers(place), "it answers", START_SECONDS)
        assert not driver.is_ready()
        driver.wait_ready()
        batch = handed("hold_the_interpreter")
        outcome = pool.submit(driver.client.run, batch, rows(TEXTS), timeout_seconds=LONG_SECONDS)
        driver.wait_said(f"{batch.name.batch_id} holds the interpreter")
        eventually(lambda: not answers(place), "it answers no more", LONG_SECONDS)
        (driver.jobs_folder / "pipe").write_text("go on")
        assert outcome.result().verdict is Verdict.OK
        eventually(lambda: answers(place), "it answers again", LONG_SECONDS)
        assert fetched(place, "/readyz")[0] == 404


def test_a_driver_whose_code_cannot_be_imported_is_alive(place: str) -> None:
    """Another process would not import it either: to start one again and again is of no use."""
    with RunningDriver("driver-without-code", entrypoint="no_such_module:process", probes=place) as driver:
        eventually(lambda: is_permanent(driver), "it says so", START_SECONDS)
        assert fetched(place, "/healthz") == ALIVE


def is_permanent(driver: RunningDriver) -> bool:
    said = driver.describe()
    return said is not None and said.permanent


@pytest.mark.parametrize("place", ["localhost", "256.0.0.1:8082"])
def test_probes_that_cannot_be_served_are_told_and_end_it(place: str) -> None:
    with RunningDriver("driver-refused", probes=place) as driver:
        assert driver.program.wait_ended(START_SECONDS) == 2
        assert f"Probes cannot be served at {place}" in driver.program.log_tail(5).replace("'", "")


def run_of(deadline: float) -> Run:
    batch = handed("count")
    return Run(batch, rows(TEXTS), deadline)


def test_a_run_is_given_the_time_in_which_the_driver_should_have_ended_itself() -> None:
    run = run_of(deadline=100.0)
    assert liveness([run], [], HANG_SECONDS, now=139.0).holds
    judged = liveness([run], [], HANG_SECONDS, now=141.0)
    assert not judged.holds
    assert judged.sentence == f"Batch {run.name.batch_id} is at work 41 s past its deadline."


def test_a_part_that_nobody_sees_to_any_more_is_named() -> None:
    judged = liveness([], ["Spark", "the clock"], HANG_SECONDS, now=0.0)
    assert (judged.holds, judged.sentence) == (False, "Nobody sees to Spark and the clock any more.")
