"""What workers have done, added up though each counts from its own start."""

from typing import Any

import pytest

from penstock_operator.plan.scaling import Work
from penstock_operator.plan.scaling.tally import Tally


def status(batches: int, acked: int) -> dict[str, Any]:
    work = {"batches": batches, "messages": acked, "seconds": 1.5, "busySeconds": 1.0}
    return {"verdicts": {"ok": batches}, "answered": {"acked": acked}, "work": work}


def test_what_is_told_twice_counts_once() -> None:
    tally = Tally()
    for told in (status(1, 10), status(1, 10), status(3, 30)):
        tally.hear("w", told)
    assert (tally.verdicts["ok"], tally.settled) == (3, 30)


def test_workers_are_added_and_one_that_starts_anew_counts_from_nothing() -> None:
    tally = Tally()
    tally.hear("a", status(2, 20))
    tally.hear("b", status(1, 10))
    tally.began("a")
    tally.hear("a", status(2, 5))
    assert (tally.verdicts["ok"], tally.settled) == (5, 35)


def test_a_worker_that_counts_less_than_before_has_begun_anew() -> None:
    tally = Tally()
    tally.hear("a", status(7, 70))
    tally.hear("a", status(2, 5))
    assert (tally.verdicts["ok"], tally.settled) == (9, 75)


def test_one_that_is_forgotten_and_comes_again_counts_from_nothing() -> None:
    tally = Tally()
    tally.hear("a", status(2, 20))
    tally.forget(["b"])
    tally.hear("a", status(3, 30))
    assert (tally.verdicts["ok"], tally.settled) == (5, 50)


def test_only_final_answers_count_as_settled() -> None:
    tally = Tally()
    tally.hear("w", {"answered": {"acked": 3, "dead-lettered": 2, "given-back": 7}})
    assert tally.settled == 5


def test_a_rate_is_the_mean_of_the_last_seconds() -> None:
    tally = Tally()
    for second in range(21):
        tally.hear("w", status(second, 100 * second))
        tally.tick(float(second), 1.0)
    assert tally.per_second == pytest.approx(100)
    for second in range(21, 28):
        tally.tick(float(second), 1.0)
    assert tally.per_second == 0


def test_what_was_done_long_ago_weighs_less() -> None:
    tally = Tally()
    tally.hear("w", status(10, 100))
    assert tally.work == Work(10, 100, 1.5, 0, 0, 1.0)
    tally.tick(60.0, 60.0)
    assert 2 < tally.work.batches < 4
