"""What is remembered of a group between looks: who is to go since when, what is worth a step, when a group sleeps."""

from typing import Any

from penstock_operator.plan.declared import Identity
from penstock_operator.plan.fleet import WorkerPod
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.scaling import Limits
from penstock_operator.services.links import Counters
from penstock_operator.services.workforce.crew import Crew, Post
from penstock_operator.services.workforce.fleets import Label

PATIENCE = 100.0
PLACE = GroupPlace(Identity("Connection", "a", "n"), Identity("Consumer", "a", "c"), None, "S", "c", "D", "dead", None)


def crew(limits: Limits | None = None, workers: int = 0) -> Crew:
    return Crew(Post(place=PLACE, label=Label("a", "etl"), limits=limits, workers=workers, patience=PATIENCE))


def status(worker: str, held: int = 0, **more: object) -> dict[str, Any]:
    return {"worker": worker, "ready": True, "heldMessages": held, "holds": [], **more}


def pods(*names: str) -> list[WorkerPod]:
    return [WorkerPod(name=name, revision="r") for name in names]


def test_a_worker_that_was_told_to_go_is_late_after_its_time_though_it_was_never_heard() -> None:
    one = crew()
    one.told_to_retire(["w"], 0.0)
    one.told_to_retire(["w"], 50.0)
    assert one.late(PATIENCE) == frozenset()
    assert one.late(PATIENCE + 1) == {"w"}


def test_a_worker_that_is_wanted_again_has_all_its_time_when_it_is_to_go_the_next_time() -> None:
    one = crew()
    one.told_to_retire(["w"], 0.0)
    one.told_to_retire([], 50.0)
    one.told_to_retire(["w"], 90.0)
    assert one.late(PATIENCE + 1) == frozenset()


def test_who_leads_anew_knows_from_the_workers_who_was_told_to_go() -> None:
    one = crew()
    one.take_in(0.0, Counters(0, 0, 0), [status("w", holds=["retiring"])], pods("w"), 1)
    one.told_to_retire([], 0.0)
    assert one.late(PATIENCE + 1) == {"w"}


def test_numbers_alone_are_told_at_the_period_and_what_matters_at_once() -> None:
    one = crew(workers=1)
    one.take_in(0.0, Counters(5, 0, 0), [status("w")], pods("w"), 1)
    one.stepped(0.0)
    one.take_in(1.0, Counters(4, 1, 1), [status("w", held=1)], pods("w"), 1)
    assert not one.needs_step(1.0, 1, 15.0)
    assert one.needs_step(16.0, 1, 15.0)
    one.take_in(2.0, Counters(4, 1, 1), [status("w", held=1, sentence="No link.", ready=False)], pods("w"), 1)
    assert one.needs_step(2.0, 1, 15.0)


def test_a_number_that_somebody_else_has_set_is_a_matter_at_once() -> None:
    one = crew(workers=1)
    one.take_in(0.0, Counters(0, 0, 0), [], [], 1)
    one.stepped(0.0)
    assert not one.needs_step(1.0, 1, 15.0)
    assert one.needs_step(1.0, 7, 15.0)


def test_a_worker_that_ends_is_not_waited_for_when_it_answers_no_more() -> None:
    """Else another one would come in its place, as long as it takes to end, and nobody would ever be gone."""
    one = crew(Limits(batch_messages=10, max_workers=3, idle=0.0))
    one.take_in(0.0, Counters(0, 0, 0), [status("w")], pods("w"), 1)
    assert one.desired == 0
    one.take_in(1.0, Counters(0, 0, 0), [], [WorkerPod(name="w", revision="r", deleting=True)], 0)
    assert one.desired == 0
    one.take_in(2.0, Counters(0, 0, 0), [status("v")], pods("v"), 1)
    one.take_in(3.0, Counters(0, 0, 0), [], pods("v"), 1)
    assert one.desired == 1, "it is there, and may hold anything"


def test_a_decision_keeps_its_words_until_another_is_made() -> None:
    one = crew(Limits(batch_messages=10, max_workers=3))
    one.take_in(0.0, Counters(5, 0, 0), [], [], 0)
    assert one.decision is not None
    words = one.decision.words
    one.take_in(1.0, Counters(6, 0, 0), [], [], 1)
    assert (one.decision.workers, one.decision.words) == (1, words)
    assert "0 → 1" in words


def test_a_group_sleeps_once_nothing_is_there_and_nothing_is_to_be_done() -> None:
    one = crew(Limits())
    one.take_in(0.0, Counters(0, 0, 0), [], [], 0)
    assert one.is_asleep
    one.take_in(1.0, Counters(0, 1, 1), [], [], 0)
    assert not one.is_asleep, "what was delivered and not answered comes again"
    one.take_in(2.0, Counters(0, 0, 1), [], pods("w"), 0)
    assert not one.is_asleep


def test_of_a_paused_consumer_nothing_is_expected() -> None:
    one = crew(Limits())
    one.take_in(0.0, Counters(50, 0, 0, is_paused=True), [], [], 0)
    assert one.desired == 0
    assert one.reading is not None
    assert one.reading.pending == 50


def test_what_nobody_could_say_takes_nobody_away() -> None:
    one = crew(Limits(idle=0, down_window=0))
    one.take_in(0.0, Counters(5, 0, 0), [status("w")], pods("w"), 1)
    one.take_in(1.0, None, [status("w")], pods("w"), 1)
    assert one.desired == 1
