"""A driver whose Spark is a Connect server: what differs there, and the server's death."""

import sys
from collections.abc import Iterator

import pytest

from penstock_worker.policy.outcome import Verdict
from tests.testbed import run
from tests.testbed.ports import free_port
from tests.testbed.spark.connect import ConnectServer
from tests.testbed.waiting import eventually
from tests.worker.driver.driving import LONG_SECONDS, RunningDriver, assert_words_decide_nothing, handed

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("driver-connect")]
TOKEN = "let-me-in"
VERDICTS = {
    "bad_cast": Verdict.DATA,
    "fail_fast": Verdict.DATA,
    "udf_raises": Verdict.DATA,
    "wrong_column": Verdict.CODE,
    "missing_module": Verdict.CODE,
    "unpicklable": Verdict.CODE,
    "python_worker_dies": Verdict.TRANSIENT,
}


@pytest.fixture(scope="module")
def server() -> Iterator[ConnectServer]:
    server = ConnectServer(run.current().new_folder("spark-connect-of-driver"), token=TOKEN)
    server.program.env["PYSPARK_PYTHON"] = sys.executable  # else it runs functions in any python3 that it finds
    server.start()
    yield server
    server.program.kill()


@pytest.fixture(scope="module")
def on_server(server: ConnectServer) -> Iterator[RunningDriver]:
    """A driver with a token and two servers to choose from, the first of which does not exist."""
    token = run.current().new_folder("token") / "token"
    token.write_text(f"{TOKEN}\n")
    master = f"sc://127.0.0.1:{free_port()},127.0.0.1:{server.port}"
    conf = {"spark.sql.shuffle.partitions": "3", "spark.of.the.code": "1"}
    with RunningDriver("driver-connect", master=master, token_file=str(token), conf=conf) as driver:
        yield driver


@pytest.fixture
def driver(on_server: RunningDriver) -> RunningDriver:
    on_server.wait_ready()
    return on_server


def test_user_modules_are_shipped_and_errors_have_verdicts(driver: RunningDriver, subtests: pytest.Subtests) -> None:
    outcome = driver.run("use_top_level_udf")
    assert (outcome.verdict, outcome.fault) == (Verdict.OK, None)
    for job, verdict in VERDICTS.items():
        with subtests.test(job):
            outcome = driver.run(job)
            assert outcome.verdict is verdict, outcome


def test_no_words_of_a_payload_decide_the_verdict(driver: RunningDriver, subtests: pytest.Subtests) -> None:
    assert_words_decide_nothing(driver, subtests)
    with subtests.test("pyspark takes it for a lost session"):
        outcome = driver.run_batch(handed("cast_data", 1), ("INVALID_HANDLE.SESSION_NOT_FOUND",))
        assert outcome.verdict in {Verdict.DATA, Verdict.TRANSIENT}, outcome


def test_a_session_that_the_server_closed_is_replaced(driver: RunningDriver) -> None:
    assert driver.run("session_closed").verdict is Verdict.ENGINE_LOST
    driver.wait_ready()
    assert driver.run("aggregate").verdict is Verdict.OK


def test_a_run_that_hangs_on_the_server_is_cancelled(driver: RunningDriver) -> None:
    batch = handed("hang_in_spark")
    outcome = driver.begin_and_wait(batch)
    driver.client.cancel(batch.name)
    assert outcome.result().verdict is Verdict.CANCELLED
    assert driver.run("aggregate").verdict is Verdict.OK


def test_a_server_that_dies_in_a_batch_is_used_again_later(driver: RunningDriver, server: ConnectServer) -> None:
    outcome = driver.begin_and_wait(handed("hang_in_spark"))
    server.program.kill()
    assert outcome.result().verdict is Verdict.ENGINE_LOST
    eventually(lambda: not driver.is_ready(), "it takes no batches", LONG_SECONDS)
    server.start()
    driver.wait_ready()
    assert driver.run("use_top_level_udf").verdict is Verdict.OK


@pytest.mark.usefixtures("driver")
def test_a_token_that_the_server_refuses_makes_the_driver_unusable(server: ConnectServer) -> None:
    with RunningDriver("driver-denied", master=server.url, conf={}) as denied:
        assert f"The Spark Connect server at 127.0.0.1:{server.port} refuses our token" in denied.wait_unusable()
