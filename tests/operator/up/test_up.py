"""`penstock up` restarts what dies, follows edits, obeys commands, and loses or duplicates no message.

All tests share one `up`, as each start of Spark takes seconds.
"""

import json
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from tests.operator.up.upping import Up
from tests.testbed.processes import program

pytestmark = [pytest.mark.xdist_group("up"), pytest.mark.timeout(600)]
SOME = 20
GROUP, PAUSED = "etl", "It is paused."
ENGINE, DRIVER, SERVER = "penstock_worker.engine", "penstock_worker.driver", "nats-server"


class UpWithOrders(Up):
    """Orders are numbered from test to test."""

    def __init__(self) -> None:
        super().__init__()
        self._orders: list[int] = []

    def publish_orders(self) -> list[int]:
        """Publish some more, and return them."""
        new = list(range(len(self._orders), len(self._orders) + SOME))
        self._orders += new
        self.publish(*new)
        return new

    def wait_processed(self) -> None:
        """Wait until each order is there once, and the server has an answer for all messages."""
        self.wait_rows(self._orders)
        self.wait_settled()

    def process_orders(self) -> list[int]:
        """Publish some more, wait until all are processed, and return the new ones."""
        new = self.publish_orders()
        self.wait_processed()
        return new


@pytest.fixture(scope="module")
def up() -> Iterator[UpWithOrders]:
    up = UpWithOrders()
    up.start()
    yield up
    up.stop()


@pytest.mark.interpreter
def test_published_orders_become_rows(up: UpWithOrders) -> None:
    up.process_orders()


def only_process(up: Up, word: str, name: str = "") -> psutil.Process:
    """Return the one process with this word in its command, or of this program; it may just be starting again."""
    found: list[psutil.Process] = []

    def is_one() -> bool:
        found[:] = [process for process in up.processes(word) if name in ("", program(process))]
        return len(found) == 1

    up.wait(is_one, f"there is one {word or name}")
    return found[0]


VICTIMS = {"engine": (ENGINE, ""), "driver": (DRIVER, ""), "JVM": ("", "java"), "NATS server": (SERVER, "")}


@pytest.mark.full
@pytest.mark.parametrize("victim", VICTIMS)
def test_killed_process_is_started_again_and_nothing_is_lost(victim: str, up: UpWithOrders) -> None:
    up.publish_orders()
    only_process(up, *VICTIMS[victim]).kill()
    if victim == "NATS server":
        up.wait_said("The NATS server of Connection default/nats was killed by signal 9, and is started again.")
        up.wait_serving()
    up.process_orders()


@pytest.mark.full
def test_deleted_ledger_and_dead_letter_stream_are_created_again_and_work_goes_on(up: UpWithOrders) -> None:
    up.process_orders()
    for name, purpose in (("KV_penstock-ledger", "of the ledger"), ("ORDERS-etl-dead", "of dead letters")):
        up.delete_stream(name)
        up.publish_orders()
        up.wait_said(f"Stream {name} {purpose} was deleted, and was created again, empty.")
    up.process_orders()


@pytest.mark.full
def test_edit_of_scaling_adds_and_ends_workers_and_restarts_none(up: UpWithOrders) -> None:
    before = only_process(up, ENGINE)
    up.declare(scaling={"minReplicas": 2, "maxReplicas": 2})
    up.wait(lambda: len(up.processes(ENGINE)) == 2, "there are two workers")
    both = up.processes(ENGINE)
    assert before in both
    up.process_orders()
    up.declare(scaling={"minReplicas": 1, "maxReplicas": 1, "stabilization": {"down": "0s"}})
    up.wait(lambda: len(up.processes(ENGINE)) == 1, "there is one worker")
    assert only_process(up, ENGINE) in both
    up.process_orders()


@pytest.mark.full
def test_manifest_with_a_mistake_changes_nothing_and_is_reported_with_its_line(up: UpWithOrders) -> None:
    before = only_process(up, ENGINE)
    up.write("apiVersion: penstock.dev/v1alpha1\nkind: Quay\nmetadata: {name: x}\n")
    up.wait_said("all.yaml:2: penstock.dev has no kind Quay")
    up.wait_said("What was declared before goes on.")
    up.process_orders()
    assert only_process(up, ENGINE) == before
    up.declare()


@pytest.mark.full
def test_next_batches_run_edited_code(up: UpWithOrders) -> None:
    before = only_process(up, ENGINE)
    up.mark("second")
    up.wait(lambda: not before.is_running(), "the worker with the first code has ended")
    new = up.process_orders()
    assert {mark for number, mark in up.rows() if number in new} == {"second"}


@pytest.mark.full
def test_broken_code_stops_the_group_until_it_is_repaired(up: UpWithOrders) -> None:
    up.code("import pandsa\n")
    up.wait_said("No module named 'pandsa'")
    new = up.publish_orders()
    up.wait(lambda: not up.processes(ENGINE), "nothing is pulled")
    up.wait(lambda: up.consumer().num_pending == len(new), "all wait")
    up.mark("third")
    up.wait_processed()
    assert {mark for number, mark in up.rows() if number in new} == {"third"}


@pytest.mark.full
def test_second_home_for_one_folder_is_refused(up: Up) -> None:
    assert "Another `penstock up` has the state folder" in up.drain(exit_code=1)


def data(up: Up, *words: str) -> Any:  # noqa: ANN401 - JSON
    return json.loads(up.succeed(*words, "-o", "json"))


def dead_letters(up: Up) -> list[int]:
    return [each["sequence"] for each in data(up, "dead", "list", GROUP)["deadLetters"]]


def engines(up: Up) -> set[int]:
    return {process.pid for process in up.processes(ENGINE)}


@pytest.mark.full
def test_commands_find_the_group_and_replay_its_dead_letters(up: UpWithOrders) -> None:
    up.publish(bad=2)
    up.process_orders()
    [consumer] = data(up, "lag")["consumers"]
    assert (consumer["name"], consumer["pending"], consumer["ackPending"]) == ("etl", 0, 0)
    assert dead_letters(up) == [2, 1]
    assert up.succeed("dead", "replay", "--all") == "2 replayed: 2 to ORDERS.\n"
    up.wait(lambda: dead_letters(up) == [4, 3], "they are dead letters once more")
    logs = ("logs", GROUP, "--engine", "--json")
    up.wait(lambda: '"message": "Dead lettered' in up.succeed(*logs), "it is logged")
    up.wait(lambda: data(up, "batches") == {"batches": []}, "no batch is open")
    before = engines(up)
    up.succeed("restart", GROUP)
    up.wait(lambda: bool(engines(up) - before) and not engines(up) & before, "its workers are others")


@pytest.mark.full
def test_pause_survives_workers_and_up_itself(up: UpWithOrders) -> None:
    times = up.said().count(PAUSED)
    up.succeed("pause", GROUP, "--wait")
    up.wait_said(PAUSED, times=times + 1)
    up.wait(lambda: not engines(up) and not up.processes(DRIVER), "its workers have ended")
    assert up.interrupt() == 0
    up.start()
    up.publish_orders()
    up.wait_said(PAUSED, times=times + 2)
    up.wait(lambda: up.consumer().num_pending == SOME, "all wait")
    up.succeed("resume", GROUP)
    up.succeed("drain", GROUP)
    up.wait_processed()
    up.wait_said(PAUSED, times=times + 3)
    up.succeed("resume", GROUP)
