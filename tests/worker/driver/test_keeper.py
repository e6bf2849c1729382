"""Who keeps Spark ready: what keeps it from starting is told and tried again, and a fault of ours ends the process."""

import errno
from collections.abc import Iterator
from itertools import count

import pytest

from penstock_worker.driver.entrypoint import load
from penstock_worker.driver.keeper import Keeper
from penstock_worker.spark.contract import Spark
from tests.testbed.waiting import eventually

LONG_SECONDS = 60


class Nobody:
    """No run is at work."""

    def let_go(self, why: str) -> None:
        raise AssertionError(why)


class Failing:
    """Makes no Spark, and says how often that was tried."""

    def __init__(self, problem: Exception) -> None:
        self.problem = problem
        self.tries = count(1)
        self.tried = 0

    def __call__(self) -> Spark:
        self.tried = next(self.tries)
        raise self.problem


@pytest.fixture
def given_up() -> list[str]:
    return []


@pytest.fixture
def full(given_up: list[str]) -> Iterator[tuple[Keeper, Failing]]:
    make = Failing(OSError(errno.ENOSPC, "No space left on device"))
    keeper = Keeper(make, lambda _: load("json:dumps", ()), Nobody(), given_up.append)
    keeper.start()
    yield keeper, make
    keeper.close()


def test_a_disk_that_is_full_is_told_and_tried_again(full: tuple[Keeper, Failing], given_up: list[str]) -> None:
    keeper, make = full
    eventually(lambda: make.tried > 1, "a second try", LONG_SECONDS)
    assert "No space left on device" in keeper.readiness.why_not
    assert not keeper.readiness.is_permanent
    assert not given_up


def test_a_fault_of_ours_ends_the_process_rather_than_leave_it_waiting_for_ever(given_up: list[str]) -> None:
    keeper = Keeper(Failing(ZeroDivisionError()), lambda _: load("json:dumps", ()), Nobody(), given_up.append)
    keeper.start()
    eventually(lambda: bool(given_up), "it gives up", LONG_SECONDS)
    keeper.close()
