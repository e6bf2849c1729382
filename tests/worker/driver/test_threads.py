"""A driver's threads: the keeper starts Spark again and again, and the slots run batches in order."""

import errno
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import cast

from pyspark.sql import DataFrame

from penstock_worker.api import Batch
from penstock_worker.driver.entrypoint import Code
from penstock_worker.driver.keeper import Keeper
from penstock_worker.driver.runs import Run, Runs
from penstock_worker.driver.slots import Slots
from penstock_worker.spark.contract import Spark
from tests.testbed.waiting import eventually
from tests.worker.driver.driving import LONG_SECONDS, handed, rows

A_MOMENT_SECONDS = 0.3
"""Time enough for another run to begin, if it may."""


def spark_without_work() -> Spark:
    """Return a Spark that is ready, for functions that do not use it."""
    nothing = SimpleNamespace(start=lambda: None, complaint=lambda: None, close=lambda: None, kill=lambda: None)
    seat = SimpleNamespace(session=None, frame=lambda table: table, tagged=nullcontext, interrupt=lambda: None)
    vars(nothing).update(name="none", sees_our_modules=True, end_seconds=1.0, seat=lambda _slot: seat)
    return cast("Spark", nothing)


class NoUsers:
    def let_go(self, why: str) -> None:
        assert why


class Work:
    """A user's function that works until the test lets it end."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_end = threading.Semaphore(0)

    def process(self, df: DataFrame, batch: Batch) -> None:
        assert df is not None
        self.begun.append(batch.id)
        assert self.may_end.acquire(timeout=LONG_SECONDS)


@contextmanager
def keeping(spark: Callable[[], Spark], work: Work, given_up: list[str]) -> Iterator[Keeper]:
    keeper = Keeper(spark, lambda _: Code(work.process, (), ()), NoUsers(), given_up.append)
    keeper.start()
    yield keeper
    keeper.close()


def test_the_first_run_goes_alone_and_later_runs_side_by_side() -> None:
    work, runs, given_up = Work(), Runs(), list[str]()
    with keeping(spark_without_work, work, given_up) as keeper:
        Slots(2, runs, keeper).start()
        begun: list[Run] = [runs.find_or_begin(handed(batch), rows(("a",))) for batch in ("one", "two", "three")]
        eventually(lambda: len(runs.at_work()) == len(work.begun) + 1 == 2, "a run, and one that waits for it")
        assert not work.may_end.acquire(timeout=A_MOMENT_SECONDS)
        assert len(work.begun) == 1
        work.may_end.release()
        eventually(lambda: len(work.begun) == len(begun), "the others run together")
        for _ in begun:
            work.may_end.release()
        assert all(run.ended.wait(LONG_SECONDS) for run in begun)
        runs.close()
    assert not given_up


def test_a_full_disk_is_reported_and_spark_is_tried_again() -> None:
    tried, given_up = list[str](), list[str]()

    def fail() -> Spark:
        tried.append("once more")
        raise OSError(errno.ENOSPC, "No space left on device")

    with keeping(fail, Work(), given_up) as keeper:
        eventually(lambda: len(tried) > 1, "a second try")
        assert "No space left on device" in keeper.readiness.why_not
        assert not keeper.readiness.is_permanent
    assert not given_up


def test_a_fault_of_the_driver_ends_the_process() -> None:
    given_up: list[str] = []

    def fail() -> Spark:
        raise ZeroDivisionError

    with keeping(fail, Work(), given_up):
        eventually(lambda: given_up, "it gives up")
