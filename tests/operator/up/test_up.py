"""`penstock up` over its life: it restarts what dies, takes in edits, obeys commands, and loses or doubles nothing.

All tests share one home, as each start of Spark takes seconds: orders are numbered from test to test.
"""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import psutil
import pytest

from tests.operator.up.upping import Up
from tests.testbed.processes import program

pytestmark = [pytest.mark.xdist_group("up"), pytest.mark.timeout(600)]
SOME = 20
GROUP, PAUSED = "etl", "It is paused."
ENGINE, DRIVER, SERVER = "penstock_worker.engine", "penstock_worker.driver", "nats-server"


class Orders:
    """All that were published so far."""

    def __init__(self, up: Up) -> None:
        self._up = up
        self._numbers = count()
        self.all: list[int] = []

    def publish(self) -> list[int]:
        """Publish some more, and return them."""
        new = [next(self._numbers) for _ in range(SOME)]
        self.all += new
        self._up.publish(*new)
        return new

    def wait(self) -> None:
        """Wait until each is there once, and the server has an answer for all."""
        self._up.wait_rows(self.all)
        self._up.wait_settled()


@pytest.fixture(scope="module")
def home() -> Iterator[tuple[Up, Orders]]:
    up = Up()
    up.start()
    up.until_serving()
    yield up, Orders(up)
    up.stop()


@pytest.fixture
def up(home: tuple[Up, Orders]) -> Up:
    return home[0]


@pytest.fixture
def orders(home: tuple[Up, Orders]) -> Orders:
    return home[1]


@pytest.mark.interpreter
def test_published_orders_become_rows(orders: Orders) -> None:
    orders.publish()
    orders.wait()


def running(word: str, name: str = "") -> Callable[[Up], psutil.Process]:
    """Return what finds the one such process, which may just be starting again."""

    def find(up: Up) -> psutil.Process:
        found: list[psutil.Process] = []

        def is_one() -> bool:
            found[:] = [process for process in up.processes(word) if name in ("", program(process))]
            return len(found) == 1

        up.wait(is_one, f"there is one {word or name}")
        return found[0]

    return find


VICTIMS = {
    "engine": running(ENGINE),
    "driver": running(DRIVER),
    "JVM": running("", "java"),
    "NATS server": running(SERVER),
}


@pytest.mark.full
@pytest.mark.parametrize("victim", VICTIMS)
def test_killed_process_is_started_again_and_nothing_is_lost(victim: str, up: Up, orders: Orders) -> None:
    orders.publish()
    VICTIMS[victim](up).kill()
    if victim == "NATS server":
        up.wait_said("The NATS server of Connection default/nats was killed by signal 9, and is started again.")
        up.until_serving()
    orders.publish()
    orders.wait()


@pytest.mark.full
def test_edit_of_scaling_adds_and_ends_workers_and_restarts_none(up: Up, orders: Orders) -> None:
    before = running(ENGINE)(up)
    up.declare(scaling={"minReplicas": 2, "maxReplicas": 2})
    up.wait(lambda: len(up.processes(ENGINE)) == 2, "there are two workers")
    orders.publish()
    orders.wait()
    up.declare(scaling={"minReplicas": 1, "maxReplicas": 1, "stabilization": {"down": "0s"}})
    up.wait(lambda: len(up.processes(ENGINE)) == 1, "there is one worker")
    assert running(ENGINE)(up) == before
    orders.publish()
    orders.wait()


@pytest.mark.full
def test_manifest_with_a_mistake_changes_nothing_and_is_reported_with_its_line(up: Up, orders: Orders) -> None:
    before = running(ENGINE)(up)
    up.write("apiVersion: penstock.dev/v1alpha1\nkind: Quay\nmetadata: {name: x}\n")
    up.wait_said("all.yaml:2: penstock.dev has no kind Quay")
    up.wait_said("What was declared before goes on.")
    orders.publish()
    orders.wait()
    assert running(ENGINE)(up) == before
    up.declare()


@pytest.mark.full
def test_next_batches_run_edited_code(up: Up, orders: Orders) -> None:
    before = running(ENGINE)(up)
    up.mark("second")
    up.wait(lambda: not before.is_running(), "the worker with the first code has ended")
    new = orders.publish()
    orders.wait()
    assert {mark for number, mark in up.rows() if number in new} == {"second"}


@pytest.mark.full
def test_broken_code_stops_the_group_until_it_is_repaired(up: Up, orders: Orders) -> None:
    up.code("import pandsa\n")
    up.wait_said("No module named 'pandsa'")
    new = orders.publish()
    up.wait(lambda: not up.processes(ENGINE), "nothing is pulled")
    up.wait(lambda: up.consumer().num_pending == len(new), "all wait")
    up.mark("third")
    orders.wait()
    assert {mark for number, mark in up.rows() if number in new} == {"third"}


@pytest.mark.full
def test_second_home_for_one_folder_is_refused(up: Up) -> None:
    code, said = up.drained()
    assert code == 1
    assert "Another `penstock up` has the state folder" in said


@pytest.mark.full
def test_suspended_group_pulls_nothing_until_it_is_resumed(up: Up, orders: Orders) -> None:
    group = up.state.group("default", "etl")
    group.suspend()
    up.wait(lambda: not up.processes(DRIVER) and not up.processes(ENGINE), "the workers have ended")
    orders.publish()
    up.wait(lambda: up.consumer().num_pending == SOME, "all wait")
    group.resume()
    orders.wait()


def data(up: Up, *words: str) -> Any:  # noqa: ANN401 - JSON
    return json.loads(up.succeed(*words, "-o", "json"))


def dead_letters(up: Up) -> list[int]:
    return [each["sequence"] for each in data(up, "dead", "list", GROUP)["deadLetters"]]


def engines(up: Up) -> set[int]:
    return {process.pid for process in up.processes(ENGINE)}


@pytest.mark.full
def test_commands_find_the_group_and_replay_its_dead_letters(up: Up, orders: Orders) -> None:
    up.publish(bad=2)
    orders.publish()
    orders.wait()
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
def test_pause_survives_workers_and_up_itself(up: Up, orders: Orders) -> None:
    times = up.said().count(PAUSED)
    up.succeed("pause", GROUP, "--wait")
    up.wait_said(PAUSED, times=times + 1)
    up.wait(lambda: not engines(up), "its workers have ended")
    assert up.interrupt() == 0
    up.start()
    up.until_serving()
    orders.publish()
    up.wait_said(PAUSED, times=times + 2)
    up.wait(lambda: up.consumer().num_pending == SOME, "all wait")
    up.succeed("resume", GROUP)
    up.succeed("drain", GROUP)
    orders.wait()
    up.wait_said(PAUSED, times=times + 3)
