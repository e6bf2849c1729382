"""A driver whose Spark is a Connect server: what differs there, and the server's death."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock_worker.policy.outcome import Verdict
from tests.testbed import run
from tests.testbed.ports import free_port
from tests.testbed.spark.connect import ConnectServer
from tests.testbed.waiting import eventually
from tests.worker.driver.driving import LONG_SECONDS, START_SECONDS, RunningDriver, handed, rows

pytestmark = [pytest.mark.timeout(2 * START_SECONDS), pytest.mark.xdist_group("driver-connect")]
TOKEN = "let-me-in"


@pytest.fixture(scope="module")
def server() -> Iterator[ConnectServer]:
    server = ConnectServer(run.current().new_folder("spark-connect-of-driver"), token=TOKEN)
    server.program.env["PYSPARK_PYTHON"] = sys.executable  # else it runs functions in whatever python3 there is
    server.start()
    yield server
    server.program.kill()


@pytest.fixture(scope="module")
def on_server(server: ConnectServer) -> Iterator[RunningDriver]:
    """A driver that has a token, and two servers to choose from, the first of which is not there."""
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


def test_a_batch_runs_and_functions_of_the_users_modules_go_along(driver: RunningDriver) -> None:
    outcome = driver.run("use_top_level_udf")
    assert (outcome.verdict, outcome.fault) == (Verdict.OK, None)


@pytest.mark.parametrize(
    ("job", "verdict"),
    [
        ("bad_cast", Verdict.DATA),
        ("fail_fast", Verdict.DATA),
        ("udf_raises", Verdict.DATA),
        ("wrong_column", Verdict.CODE),
        ("missing_module", Verdict.CODE),
        ("python_worker_dies", Verdict.TRANSIENT),
    ],
)
def test_an_error_has_the_verdict_of_its_kind(driver: RunningDriver, job: str, verdict: Verdict) -> None:
    outcome = driver.run(job)
    assert outcome.verdict is verdict, outcome


def test_a_run_that_hangs_on_the_server_is_cancelled(driver: RunningDriver) -> None:
    batch = handed("hang_in_spark")
    with ThreadPoolExecutor() as pool:
        outcome = pool.submit(driver.client.run, batch, rows(("a",)), timeout_seconds=LONG_SECONDS)
        driver.wait_said(f"{batch.name.batch_id} hangs")
        driver.client.cancel(batch.name)
        assert outcome.result().verdict is Verdict.CANCELLED
    assert driver.run("aggregate").verdict is Verdict.OK


def test_a_server_that_dies_mid_batch_is_known_and_one_that_comes_back_is_used(
    driver: RunningDriver, server: ConnectServer
) -> None:
    batch = handed("hang_in_spark")
    with ThreadPoolExecutor() as pool:
        outcome = pool.submit(driver.client.run, batch, rows(("a",)), timeout_seconds=LONG_SECONDS)
        driver.wait_said(f"{batch.name.batch_id} hangs")
        server.program.kill()
        assert outcome.result().verdict is Verdict.ENGINE_LOST
    eventually(lambda: not driver.is_ready(), "it takes no batches", LONG_SECONDS)
    server.start()
    driver.wait_ready()
    assert driver.run("use_top_level_udf").verdict is Verdict.OK


def test_a_token_that_the_server_refuses_is_told_in_a_sentence(server: ConnectServer, driver: RunningDriver) -> None:
    assert driver.is_ready()
    with RunningDriver("driver-denied", master=server.url, conf={}) as denied:
        eventually(lambda: is_permanent(denied), "it says why it cannot start", START_SECONDS)
        said = denied.describe()
        assert said is not None
        assert f"The Spark Connect server at 127.0.0.1:{server.port} refuses our token" in said.why_not


@pytest.mark.parametrize(
    ("setting", "value", "told"),
    [
        (
            "spark.executor.memory",
            "1g",
            "does not let a session set spark.executor.memory: set it where the server is started",
        ),
        (
            "spark.sql.shuffle.partitions",
            "many",
            "The Spark setting spark.sql.shuffle.partitions cannot have this value: ",
        ),
        (
            "spark.sql.shuffle.partition",
            "3",
            "has no setting spark.sql.shuffle.partition. Did you mean spark.sql.shuffle.partitions?",
        ),
    ],
)
def test_a_setting_that_a_session_cannot_have_is_named(
    server: ConnectServer, driver: RunningDriver, setting: str, value: str, told: str
) -> None:
    assert driver.is_ready()
    url, conf = f"{server.url}/;token={TOKEN}", {"spark.of.the.code": "1", setting: value}
    with RunningDriver("driver-set", master=url, conf=conf) as refused:
        eventually(lambda: is_permanent(refused), "it says why it cannot start", START_SECONDS)
        said = refused.describe()
        assert said is not None
        assert told in said.why_not
        assert TOKEN not in repr(said)


def is_permanent(driver: RunningDriver) -> bool:
    said = driver.describe()
    return said is not None and said.permanent
