"""In which order a driver's runs begin."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock_worker.api import Batch
from penstock_worker.driver.entrypoint import Code
from penstock_worker.driver.keeper import Keeper
from penstock_worker.driver.runs import Run, Runs
from penstock_worker.driver.slots import Slots
from tests.testbed.waiting import eventually
from tests.worker.driver.driving import handed, rows

LONG_SECONDS = 60
A_MOMENT_SECONDS = 0.3
"""In which another run would begin, if it might."""


class NoSeat:
    """A seat for functions that leave Spark alone."""

    session = cast("SparkSession", None)

    def frame(self, table: pa.Table) -> DataFrame:
        return cast("DataFrame", table)

    @contextmanager
    def tagged(self, tag: str) -> Iterator[None]:
        assert tag
        yield

    def interrupt(self) -> None:
        """Nothing is at work."""


class NoSpark:
    """A Spark that is ready, for functions that leave it alone."""

    name, sees_our_modules, end_seconds = "none", True, 1.0

    def start(self) -> None:
        """There is nothing to start."""

    def seat(self, slot: int) -> NoSeat:
        assert slot in (0, 1)
        return NoSeat()

    def complaint(self) -> str | None:
        return None

    def close(self) -> None:
        """There is nothing to end."""

    def kill(self) -> None:
        """There is nothing to end."""


class Nobody:
    """Nobody has to let go: Spark is never lost."""

    def let_go(self, why: str) -> None:
        assert why


class Work:
    """A user's function that goes on until it is let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_end = threading.Semaphore(0)

    def process(self, df: DataFrame, batch: Batch) -> None:
        assert df is not None
        self.begun.append(batch.id)
        assert self.may_end.acquire(timeout=LONG_SECONDS)


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def runs(work: Work) -> Iterator[Runs]:
    given_up: list[str] = []
    runs, code = Runs(), Code(work.process, (), ())
    keeper = Keeper(NoSpark, lambda _: code, Nobody(), given_up.append)
    slots = Slots(2, runs, keeper)
    keeper.start()
    slots.start()
    yield runs
    runs.close()
    keeper.close()
    assert not given_up


def test_the_first_run_goes_alone_and_those_after_it_side_by_side(work: Work, runs: Runs) -> None:
    begun: list[Run] = [runs.find_or_begin(handed(batch), rows(("a",))) for batch in ("one", "two", "three")]
    eventually(
        lambda: len(runs.at_work()) == len(work.begun) + 1 == 2, "a run, and one that waits for it", LONG_SECONDS
    )
    assert not work.may_end.acquire(timeout=A_MOMENT_SECONDS)
    assert len(work.begun) == 1
    work.may_end.release()
    eventually(lambda: len(work.begun) == len(begun), "the others, at once", LONG_SECONDS)
    for _ in begun:
        work.may_end.release()
    assert all(run.ended.wait(LONG_SECONDS) for run in begun)
