"""What workers have done, summed up although each counts from its own start."""

from typing import Any

import pytest

from penstock_operator.plan.scaling import Work
from penstock_operator.plan.scaling.tally import Tally


def status(batches: int, acked: int) -> dict[str, Any]:
    work = {"batches": batches, "messages": acked, "seconds": 1.5, "busySeconds": 1.0}
    return {"verdicts": {"ok": batches}, "answered": {"acked": acked}, "work": work}


def heard(*reports: tuple[str, dict[str, Any]]) -> Tally:
    tally = Tally()
    for worker, report in reports:
        tally.hear(worker, report)
    return tally


def test_report_that_arrives_twice_counts_once() -> None:
    tally = heard(("w", status(1, 10)), ("w", status(1, 10)), ("w", status(3, 30)))
    assert (tally.verdicts["ok"], tally.settled) == (3, 30)


def test_worker_that_restarts_counts_from_zero_also_if_only_its_numbers_show_it() -> None:
    tally = heard(("a", status(2, 20)), ("b", status(1, 10)))
    tally.began("a")
    tally.hear("a", status(2, 5))
    assert (tally.verdicts["ok"], tally.settled) == (5, 35)
    tally = heard(("a", status(7, 70)), ("a", status(2, 5)))
    assert (tally.verdicts["ok"], tally.settled) == (9, 75)


def test_forgotten_worker_counts_from_zero_when_it_returns() -> None:
    tally = heard(("a", status(2, 20)))
    tally.forget(["b"])
    tally.hear("a", status(3, 30))
    assert (tally.verdicts["ok"], tally.settled) == (5, 50)


def test_only_final_answers_count_as_settled() -> None:
    assert heard(("w", {"answered": {"acked": 3, "dead-lettered": 2, "given-back": 7}})).settled == 5


def test_rate_is_the_mean_of_the_last_seconds() -> None:
    tally = Tally()
    for second in range(21):
        tally.hear("w", status(second, 100 * second))
        tally.tick(float(second), 1.0)
    assert tally.per_second == pytest.approx(100)
    for second in range(21, 28):
        tally.tick(float(second), 1.0)
    assert tally.per_second == 0


def test_old_work_weighs_less() -> None:
    tally = heard(("w", status(10, 100)))
    assert tally.work == Work(10, 100, 1.5, 0, 0, 1.0)
    tally.tick(60.0, 60.0)
    assert 2 < tally.work.batches < 4
