"""Scaling decisions over time, on a simple queue group."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from penstock_operator.plan.scaling import Decision, Why
from tests.operator.plan.scaling.group import READING_SECONDS, Group, limits

HOUR = 3600.0


def numbers(decisions: Sequence[Decision]) -> list[int]:
    return [decision.workers for decision in decisions]


def changes(decisions: Sequence[Decision]) -> int:
    found = numbers(decisions)
    return sum(before != after for before, after in pairwise(found))


def test_steady_load_settles_on_a_stable_number() -> None:
    """Each worker does 500 a second with full batches: three are enough for 1200."""
    group = Group(limits(), lambda _: 1200)
    decisions = list(group.run(HOUR))
    assert changes(decisions[40:]) <= 2, numbers(decisions)
    assert 3 <= decisions[-1].workers <= 4
    assert group.pending < 30 * 1200


def test_trickle_ends_with_one_worker() -> None:
    group = Group(limits(), lambda _: 5)
    group.pending = 100_000
    decisions = list(group.run(HOUR))
    assert max(numbers(decisions)) > 3
    assert decisions[-1].workers == 1, numbers(decisions)


def test_spike_is_done_in_about_the_target_time_and_then_all_workers_go() -> None:
    group = Group(limits(), lambda _: 0)
    group.pending = 60_000
    decisions = list(group.run(30 * 60))
    assert group.settled == 60_000
    assert max(numbers(decisions)) <= 8
    assert decisions[-1].workers == 0
    assert changes(decisions) <= 6, numbers(decisions)


def test_running_batches_finish_before_their_workers_go() -> None:
    group = Group(limits(), lambda now: 2000 if now <= 600 else 0)
    list(group.run(HOUR))
    assert group.settled == 600 * 2000


def test_bottleneck_that_workers_share_is_noticed() -> None:
    """A database takes 800 a second: two workers reach that, twenty would only hold connections."""
    group = Group(limits(), lambda now: 700 if now < 600 else 5000, wall=800)
    decisions = list(group.run(HOUR))
    walled = [decision for decision in decisions if decision.why is Why.FUTILE]
    assert len(walled) > len(decisions) / 2, numbers(decisions)
    assert median(numbers(walled)) <= 3, numbers(decisions)
    assert max(numbers(walled)) <= 6, "what is tried once more"


def test_bottleneck_is_noticed_by_a_group_that_had_no_backlog_before() -> None:
    """One worker kept up with 400 a second, so nothing is known of what two would have done together."""
    group = Group(limits(), lambda now: 400 if now < 600 else 5000, wall=800)
    decisions = list(group.run(HOUR))
    assert sum(numbers(decisions)) / len(decisions) < 5, numbers(decisions)


def test_more_expensive_messages_look_like_a_bottleneck_until_fewer_workers_do_less() -> None:
    """Each takes five times as long soon after more come: all workers are needed, and fewer do less."""
    group = Group(limits(), lambda now: 3000 if 600 <= now < 1800 else 300, dearer_from=640, dearer=5)
    decisions = list(group.run(2 * HOUR))
    few = [decision for decision in decisions if decision.why is Why.FUTILE]
    assert 0 < len(few) < 20, numbers(decisions)
    assert group.pending < 30 * 300, "it has caught up"


def test_bottleneck_is_probed_less_and_less_often_with_few_more_workers() -> None:
    group = Group(limits(), lambda now: 700 if now < 600 else 5000, wall=800)
    found = numbers(list(group.run(8 * HOUR)))
    late = found[-int(6 * HOUR / READING_SECONDS) :]
    assert 2 <= sum(before < after for before, after in pairwise(late)) <= 6, late
    assert max(late) <= 8, late
