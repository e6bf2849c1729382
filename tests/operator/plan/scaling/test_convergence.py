"""What the decisions come to over time, on a queue group as simple as can be."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from penstock_operator.plan.scaling import Decision, Why
from tests.operator.plan.scaling.group import READING_SECONDS, Group, limits, only_until, steady

HOUR = 3600.0


def numbers(decisions: Sequence[Decision]) -> list[int]:
    return [decision.workers for decision in decisions]


def changes(decisions: Sequence[Decision]) -> int:
    found = numbers(decisions)
    return sum(before != after for before, after in pairwise(found))


def test_under_a_steady_load_the_number_settles_and_stays() -> None:
    """Each worker does 500 a second with full batches: three are enough for 1200."""
    group = Group(limits(), steady(1200))
    decisions = list(group.run(HOUR))
    assert changes(decisions[40:]) <= 2, numbers(decisions)
    assert 3 <= decisions[-1].workers <= 4
    assert group.pending < 30 * 1200


def test_a_trickle_is_one_workers_work_however_many_there_were() -> None:
    group = Group(limits(), steady(5))
    group.pending = 100_000
    decisions = list(group.run(HOUR))
    assert max(numbers(decisions)) > 3
    assert decisions[-1].workers == 1, numbers(decisions)


def test_a_spike_is_done_in_about_the_wanted_time_and_then_all_go() -> None:
    group = Group(limits(), steady(0))
    group.pending = 60_000
    decisions = list(group.run(30 * 60))
    assert group.settled == 60_000
    assert max(numbers(decisions)) <= 8
    assert decisions[-1].workers == 0
    assert changes(decisions) <= 6, numbers(decisions)


def test_what_runs_is_done_before_its_workers_go() -> None:
    group = Group(limits(), only_until(600, 2000))
    list(group.run(HOUR))
    assert group.settled == 600 * 2000


def test_a_wall_that_workers_share_is_noticed() -> None:
    """A database takes 800 a second: two workers reach that, twenty would only hold connections."""
    group = Group(limits(), lambda now: 700 if now < 600 else 5000, wall=800)
    decisions = list(group.run(HOUR))
    walled = [decision for decision in decisions if decision.why is Why.FUTILE]
    assert len(walled) > len(decisions) / 2, numbers(decisions)
    assert median(numbers(walled)) <= 3, numbers(decisions)
    assert max(numbers(walled)) <= 6, "what is tried once more"


def test_a_wall_is_noticed_by_a_group_that_had_no_backlog_before_it() -> None:
    """One worker kept up with 400 a second, so that nobody knows what two would have done together."""
    group = Group(limits(), lambda now: 400 if now < 600 else 5000, wall=800)
    decisions = list(group.run(HOUR))
    assert sum(numbers(decisions)) / len(decisions) < 5, numbers(decisions)


def test_messages_that_became_dearer_look_like_a_wall_and_are_known_by_what_fewer_workers_do() -> None:
    """Each takes five times as long soon after more come: all workers are needed, and fewer do less."""
    group = Group(limits(), lambda now: 3000 if 600 <= now < 1800 else 300, dearer_from=640, dearer=5)
    decisions = list(group.run(2 * HOUR))
    few = [decision for decision in decisions if decision.why is Why.FUTILE]
    assert 0 < len(few) < 20, numbers(decisions)
    assert group.pending < 30 * 300, "it has caught up"


def test_a_wall_is_tried_less_and_less_often_and_with_few_more_workers() -> None:
    group = Group(limits(), lambda now: 700 if now < 600 else 5000, wall=800)
    found = numbers(list(group.run(8 * HOUR)))
    late = found[-int(6 * HOUR / READING_SECONDS) :]
    assert 2 <= sum(before < after for before, after in pairwise(late)) <= 6, late
    assert max(late) <= 8, late
