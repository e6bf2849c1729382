"""`penstock up` over its life: what dies is started again, what is edited is taken in, and nothing is lost or doubled.

One home for all of these, as each start of Spark takes seconds: orders are numbered on from test to test.
"""

from collections.abc import Callable, Iterator
from itertools import count

import psutil
import pytest

from tests.operator.up.upping import Up
from tests.testbed.processes import program

pytestmark = [pytest.mark.xdist_group("up"), pytest.mark.timeout(600)]
SOME = 20
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


def test_what_is_published_becomes_rows(orders: Orders) -> None:
    orders.publish()
    orders.wait()


def running(word: str, name: str = "") -> Callable[[Up], psutil.Process]:
    """Return what finds the one such process, which may just be starting anew."""

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


@pytest.mark.parametrize("victim", VICTIMS)
def test_what_is_killed_is_started_again_and_nothing_is_lost(victim: str, up: Up, orders: Orders) -> None:
    orders.publish()
    VICTIMS[victim](up).kill()
    if victim == "NATS server":
        up.wait_said("The NATS server of Connection default/nats was killed by signal 9, and is started again.")
        up.until_serving()
    orders.publish()
    orders.wait()


def test_an_edit_of_scaling_starts_nothing_anew_and_workers_come_and_go(up: Up, orders: Orders) -> None:
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


def test_a_manifest_that_cannot_be_meant_changes_nothing_and_is_told_with_its_line(up: Up, orders: Orders) -> None:
    before = running(ENGINE)(up)
    up.write("apiVersion: penstock.dev/v1alpha1\nkind: Quay\nmetadata: {name: x}\n")
    up.wait_said("all.yaml:2: penstock.dev has no kind Quay")
    up.wait_said("What was declared before goes on.")
    orders.publish()
    orders.wait()
    assert running(ENGINE)(up) == before
    up.declare()


def test_an_edit_of_the_code_is_what_the_next_batches_run(up: Up, orders: Orders) -> None:
    before = running(ENGINE)(up)
    up.mark("second")
    up.wait(lambda: not before.is_running(), "the worker with the first code has ended")
    new = orders.publish()
    orders.wait()
    assert {mark for number, mark in up.rows() if number in new} == {"second"}


def test_code_that_cannot_work_stops_the_group_until_it_is_better(up: Up, orders: Orders) -> None:
    up.code("import pandsa\n")
    up.wait_said("No module named 'pandsa'")
    new = orders.publish()
    up.wait(lambda: not up.processes(ENGINE), "nothing is pulled")
    up.wait(lambda: up.consumer().num_pending == len(new), "all wait")
    up.mark("third")
    orders.wait()
    assert {mark for number, mark in up.rows() if number in new} == {"third"}


def test_a_second_home_is_refused_while_one_has_the_folder(up: Up) -> None:
    code, said = up.drained()
    assert code == 1
    assert "Another `penstock up` has the state folder" in said


def test_a_suspended_group_pulls_nothing_until_it_is_resumed(up: Up, orders: Orders) -> None:
    group = up.state.group("default", "etl")
    group.suspend()
    up.wait(lambda: not up.processes(DRIVER) and not up.processes(ENGINE), "the workers have ended")
    orders.publish()
    up.wait(lambda: up.consumer().num_pending == SOME, "all wait")
    group.resume()
    orders.wait()
