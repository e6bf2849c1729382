"""The engine's end of the exchange, with a Flight server at the other: batches go over whole, and a loss is told."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from penstock_worker.exchange.client import DriverClient, DriverFaultError, DriverLostError
from penstock_worker.exchange.columns import COLUMNS, OUTGOING
from penstock_worker.exchange.records import Handed, RunName
from penstock_worker.policy.outcome import Outcome, Rejection, Verdict
from tests.testbed.programs import Program
from tests.testbed.waiting import eventually
from tests.worker.scripted_driver import Script, ScriptedDriver

NAME = RunName("ORDERS.etl.1-2.0f", 1)
LONG_SECONDS = 60
ROOT = Path(__file__).parents[3]


def handed(count: int) -> Handed:
    return Handed(
        name=NAME,
        stream="ORDERS",
        consumer="etl",
        ranges=((1, count),),
        count=count,
        bytes=count,
        attempt=1,
        redelivered=False,
        deadline_seconds=LONG_SECONDS,
    )


def rows(payloads: list[bytes]) -> pa.Table:
    facts = [
        {"subject": "a", "data": data, "headers": None, "stream": "ORDERS", "seq": row, "timestamp": 0, "delivered": 1}
        for row, data in enumerate(payloads, start=1)
    ]
    return pa.Table.from_pylist(facts, COLUMNS)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def client(script: Script, tmp_path: Path) -> Iterator[DriverClient]:
    with ScriptedDriver(tmp_path / "socket", script), DriverClient(str(tmp_path / "socket")) as client:
        yield client


def test_a_batch_goes_over_as_it_is_and_its_outcome_comes_back(client: DriverClient, script: Script) -> None:
    outcome = Outcome(Verdict.OK, 1.5, (Rejection(2, "no é"),), outgoing=7)
    script.process = lambda *_: outcome
    batch = rows([b"", "é".encode()])
    assert client.run(handed(2), batch, timeout_seconds=LONG_SECONDS) == outcome
    assert script.handed == [(handed(2), batch)]


def test_messages_of_many_megabytes_go_over(client: DriverClient, script: Script) -> None:
    batch = rows([bytes(5 << 20)] * 12)
    assert client.run(handed(12), batch, timeout_seconds=LONG_SECONDS).verdict is Verdict.OK
    assert script.handed[0][1] == batch


def test_what_is_to_be_published_is_fetched(client: DriverClient, script: Script) -> None:
    facts = [{"subject": "b", "data": b"1", "headers": [("A", ["1"])], "message_id": "id"}]
    script.outgoing = pa.Table.from_pylist(facts, OUTGOING)
    assert client.outgoing(NAME, timeout_seconds=LONG_SECONDS) == script.outgoing


def test_a_run_is_cancelled_by_another_call_and_tells_its_outcome_by_its_own(
    client: DriverClient, script: Script
) -> None:
    def until_cancelled(*_: object) -> Outcome:
        script.is_cancelled.wait(LONG_SECONDS)
        return Outcome(Verdict.CANCELLED, 0)

    script.process = until_cancelled
    outcomes: list[Outcome] = []
    run = threading.Thread(target=lambda: outcomes.append(client.run(handed(1), rows([b""]), timeout_seconds=60)))
    run.start()
    eventually(lambda: bool(script.handed), "the run has begun", LONG_SECONDS)
    client.cancel(NAME)
    run.join()
    client.forget(NAME)
    assert [outcome.verdict for outcome in outcomes] == [Verdict.CANCELLED]
    assert script.cancelled == script.forgotten == [NAME]


def test_a_driver_that_is_not_there_is_lost_and_found_once_it_is(tmp_path: Path) -> None:
    with DriverClient(str(tmp_path / "socket")) as client:
        with pytest.raises(DriverLostError, match="is gone, or not there yet"):
            client.describe()
        with ScriptedDriver(tmp_path / "socket", Script()):
            eventually(lambda: is_there(client), "the driver is found", LONG_SECONDS)


def is_there(client: DriverClient) -> bool:
    try:
        return client.describe().ready
    except DriverLostError:
        return False


def test_a_driver_that_fails_is_told_from_one_that_is_gone(client: DriverClient, script: Script) -> None:
    def fail(*_: object) -> Outcome:
        raise KeyError("a fault of the driver")

    script.process = fail
    with pytest.raises(DriverFaultError, match="a fault of the driver"):
        client.run(handed(1), rows([b""]), timeout_seconds=LONG_SECONDS)


def test_a_run_that_does_not_answer_in_time_ends_the_call(client: DriverClient, script: Script) -> None:
    ended = threading.Event()

    def hang(*_: object) -> Outcome:
        ended.wait(LONG_SECONDS)
        return Outcome(Verdict.OK, 0)

    script.process = hang
    with pytest.raises(DriverLostError, match="does not answer in time"):
        client.run(handed(1), rows([b""]), timeout_seconds=0.5)
    ended.set()


def test_a_driver_that_is_killed_ends_the_call_at_once(tmp_path: Path) -> None:
    program = Program(
        "driver", [sys.executable, "-m", "tests.worker.scripted_driver", tmp_path / "s", "hang"], tmp_path
    )
    program.env["PYTHONPATH"] = str(ROOT)
    with DriverClient(str(tmp_path / "s")) as client:
        program.start()
        program.wait_ready(lambda: is_there(client), LONG_SECONDS)
        killing = threading.Thread(target=kill_once_it_hangs, args=(program,))
        killing.start()
        with pytest.raises(DriverLostError, match="is gone"):
            client.run(handed(1), rows([b""]), timeout_seconds=LONG_SECONDS)
        killing.join()


def kill_once_it_hangs(program: Program) -> None:
    eventually(lambda: "hanging" in program.log_tail(), "the run has begun", LONG_SECONDS)
    program.kill()
