"""The engine's end of the exchange with a Flight server: batches arrive whole, and a lost driver is noticed."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from penstock_worker.exchange.client import DriverClient, DriverFaultError, DriverLostError
from penstock_worker.exchange.columns import OUTGOING
from penstock_worker.policy.outcome import Fault, Outcome, Rejection, Verdict
from tests.testbed.waiting import eventually
from tests.worker.driver.driving import handed, rows
from tests.worker.scripted_driver import Gate, Script, ScriptedDriver, driver_process

LONG_SECONDS = 60.0
BATCH = handed("ORDERS", 2, ranges=((1, 1), (7, 7)), redelivered=True)
OUTCOME = Outcome(
    Verdict.DATA,
    1.5,
    (Rejection(2, "no é"),),
    Fault("ArithmeticException", "÷ 0", "DIVIDE_BY_ZERO", "22012", "at …", "etl.py:7"),
    retry_after_seconds=1.5,
    outgoing=7,
)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def client(script: Script, tmp_path: Path) -> Iterator[DriverClient]:
    with ScriptedDriver(tmp_path / "socket", script):
        yield DriverClient(str(tmp_path / "socket"))


def run(client: DriverClient, texts: tuple[str, ...] = ("", "é"), *, seconds: float = LONG_SECONDS) -> Outcome:
    return client.run(BATCH, rows(texts), timeout_seconds=seconds)


@pytest.mark.interpreter
def test_batches_outcomes_and_outgoing_messages_arrive_unchanged(client: DriverClient, script: Script) -> None:
    script.process = lambda *_: OUTCOME
    facts = [{"subject": "b", "data": b"1", "headers": [("A", ["1"])], "message_id": "id"}]
    script.outgoing = pa.Table.from_pylist(facts, OUTGOING)
    batches = (("", "é"), ("x" * (5 << 20),) * 12)
    assert [run(client, texts) for texts in batches] == [OUTCOME] * 2
    assert script.handed == [(BATCH, rows(texts)) for texts in batches]
    assert client.outgoing(BATCH.name, timeout_seconds=LONG_SECONDS) == script.outgoing


def test_a_driver_is_lost_until_it_is_there(tmp_path: Path) -> None:
    client = DriverClient(str(tmp_path / "socket"))
    with pytest.raises(DriverLostError, match="is gone, or not there yet"):
        client.describe()
    with ScriptedDriver(tmp_path / "socket", Script()):
        eventually(lambda: is_there(client), "the driver is found")


def is_there(client: DriverClient) -> bool:
    try:
        return client.describe().ready
    except DriverLostError:
        return False


def test_a_fault_of_the_driver_differs_from_its_loss(client: DriverClient, script: Script) -> None:
    def fail(*_: object) -> Outcome:
        raise KeyError("a fault of the driver")

    script.process = fail
    with pytest.raises(DriverFaultError, match="a fault of the driver"):
        run(client)


def test_a_call_ends_when_the_run_exceeds_its_timeout(client: DriverClient, script: Script) -> None:
    script.process = gate = Gate()
    with pytest.raises(DriverLostError, match="does not answer in time"):
        run(client, seconds=0.5)
    gate.open()


@pytest.mark.interpreter
def test_a_call_ends_at_once_when_the_driver_is_killed(tmp_path: Path) -> None:
    program = driver_process(tmp_path / "socket", "hang")
    client = DriverClient(str(tmp_path / "socket"))
    program.start()
    program.wait_ready(lambda: is_there(client), LONG_SECONDS)
    with ThreadPoolExecutor() as pool:
        outcome = pool.submit(run, client)
        eventually(lambda: "hanging" in program.log_tail(), "the run has begun")
        program.kill()
        with pytest.raises(DriverLostError, match="is gone"):
            outcome.result()


LEAVES = """
import os, sys, threading
from penstock_worker.exchange.client import DriverClient
for _ in range(100):
    client = DriverClient(sys.argv[1])
    calls = [threading.Thread(target=call, daemon=True) for call in (client.await_end, client.describe)]
    for call in calls:
        call.start()
os._exit(0)
"""


def test_a_client_may_be_left_while_calls_are_under_way(tmp_path: Path) -> None:
    """Closing it then crashes the process now and then."""
    with ScriptedDriver(tmp_path / "socket", Script()):
        left = subprocess.run([sys.executable, "-c", LEAVES, tmp_path / "socket"], check=False)
    assert left.returncode == 0
