"""State of a group between polls: which workers retire since when, what needs a step, and when a group sleeps."""

from typing import Any

from penstock_operator.plan.declared import Identity
from penstock_operator.plan.fleet import WorkerPod
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.message_loss import count_losses
from penstock_operator.plan.scaling import Limits
from penstock_operator.services.links import Counters
from penstock_operator.services.workforce.crew import Crew, Post
from penstock_operator.services.workforce.fleets import Label
from tests.operator.plan.test_message_loss import Served

PATIENCE = 100.0
PLACE = GroupPlace(Identity("Connection", "a", "n"), Identity("Consumer", "a", "c"), None, "S", "c", "D", "dead", None)


def crew(limits: Limits | None = None, workers: int = 0) -> Crew:
    return Crew(Post(place=PLACE, label=Label("a", "etl"), limits=limits, workers=workers, patience=PATIENCE))


def status(worker: str, held: int = 0, **more: object) -> dict[str, Any]:
    return {"worker": worker, "ready": True, "heldMessages": held, "holds": [], **more}


def pods(*names: str) -> list[WorkerPod]:
    return [WorkerPod(name=name, revision="r") for name in names]


def test_worker_is_late_after_its_time_which_starts_when_it_retires() -> None:
    one = crew()
    one.told_to_retire(["w"], 0.0)
    one.told_to_retire(["w"], 50.0)
    assert one.late(PATIENCE) == frozenset()
    assert one.late(PATIENCE + 1) == {"w"}, "though it never answered"
    one.told_to_retire([], 50.0)
    one.told_to_retire(["w"], 90.0)
    assert one.late(PATIENCE + 1) == frozenset(), "it retires a second time"


def test_new_leader_learns_from_the_workers_which_are_retiring() -> None:
    one = crew()
    one.take_in(0.0, Counters(0, 0, 0), [status("w", holds=["retiring"])], pods("w"), 1)
    one.told_to_retire([], 0.0)
    assert one.late(PATIENCE + 1) == {"w"}


def test_numbers_wait_for_the_period_and_changes_of_state_do_not() -> None:
    one = crew(workers=1)
    one.take_in(0.0, Counters(5, 0, 0), [status("w")], pods("w"), 1)
    one.stepped(0.0)
    one.take_in(1.0, Counters(4, 1, 1), [status("w", held=1)], pods("w"), 1)
    assert not one.needs_step(1.0, 1, 15.0)
    assert one.needs_step(16.0, 1, 15.0)
    one.take_in(2.0, Counters(4, 1, 1), [status("w", held=1, sentence="No link.", ready=False)], pods("w"), 1)
    assert one.needs_step(2.0, 1, 15.0)


def test_replicas_set_by_others_are_handled_at_once() -> None:
    one = crew(workers=1)
    one.take_in(0.0, Counters(0, 0, 0), [], [], 1)
    one.stepped(0.0)
    assert not one.needs_step(1.0, 1, 15.0)
    assert one.needs_step(1.0, 7, 15.0)


def test_worker_that_ends_and_no_longer_answers_is_not_replaced() -> None:
    """Otherwise another one would start in its place for as long as it takes to end."""
    one = crew(Limits(batch_messages=10, max_workers=3, idle=0.0))
    one.take_in(0.0, Counters(0, 0, 0), [status("w")], pods("w"), 1)
    assert one.desired == 0
    one.take_in(1.0, Counters(0, 0, 0), [], [WorkerPod(name="w", revision="r", deleting=True)], 0)
    assert one.desired == 0
    one.take_in(2.0, Counters(0, 0, 0), [status("v")], pods("v"), 1)
    one.take_in(3.0, Counters(0, 0, 0), [], pods("v"), 1)
    assert one.desired == 1, "it is there, and may hold anything"


def test_decision_keeps_its_words_until_the_next_one() -> None:
    one = crew(Limits(batch_messages=10, max_workers=3))
    one.take_in(0.0, Counters(5, 0, 0), [], [], 0)
    assert one.decision is not None
    words = one.decision.words
    one.take_in(1.0, Counters(6, 0, 0), [], [], 1)
    assert (one.decision.workers, one.decision.words) == (1, words)
    assert "0 → 1" in words


def test_group_sleeps_without_workers_and_messages() -> None:
    one = crew(Limits())
    one.take_in(0.0, Counters(0, 0, 0), [], [], 0)
    assert one.is_asleep
    one.take_in(1.0, Counters(0, 1, 1), [], [], 0)
    assert not one.is_asleep, "what was delivered and not answered comes again"
    one.take_in(2.0, Counters(0, 0, 1), [], pods("w"), 0)
    assert not one.is_asleep


def test_paused_consumer_needs_no_workers() -> None:
    one = crew(Limits())
    one.take_in(0.0, Counters(50, 0, 0, is_paused=True), [], [], 0)
    assert one.desired == 0
    assert one.reading is not None
    assert one.reading.pending == 50


def test_unknown_backlog_removes_no_worker() -> None:
    one = crew(Limits(idle=0, down_window=0))
    one.take_in(0.0, Counters(5, 0, 0), [status("w")], pods("w"), 1)
    one.take_in(1.0, None, [status("w")], pods("w"), 1)
    assert one.desired == 1


def test_first_lost_message_is_reported_at_once_and_others_at_the_period() -> None:
    one, served = crew(), Served()
    served.publish(10)
    one.loss, one.position_at = count_losses(None, served.position()), 0.0
    one.take_in(0.0, Counters.of(served.position()), [], [], 0)
    one.stepped(0.0)
    assert [one.needs_position(now) for now in (1.0, 5.0)] == [False, True]
    for lost, reported in ((3, 6.0), (1, 21.0)):
        served.expire(lost)
        one.loss = count_losses(one.loss, served.position())
        assert next(now for now in (6.0, 21.0) if one.needs_step(now, 0, 15.0)) == reported
        one.stepped(6.0)
