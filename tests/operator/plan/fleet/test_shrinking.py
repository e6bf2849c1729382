"""Fewer workers: who is told to retire, who is marked, and how far replicas fall. Nobody goes who holds messages."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from penstock_operator.plan.fleet import FIRST_TO_GO, Moves, WorkerPod, shrink
from tests.operator.plan.fleet.fleets import NEW, OLD, RUNS, pending, pod, says

MARK = {"deletion_cost": FIRST_TO_GO}
A, B, C = pod("a"), pod("b"), pod("c")
"""From the oldest to the youngest."""


def test_more_are_asked_for_at_once_and_who_was_to_go_stays() -> None:
    marked = pod("b", **MARK)
    moves = shrink(2, 5, [A, marked], {"a": says(retiring=True), "b": says()})
    assert moves == Moves(recall=("a",), unmark=("b",), replicas=5)


def test_as_many_as_there_are_changes_nothing() -> None:
    assert shrink(2, 2, [A, B], {"a": says(held=3), "b": says()}) == Moves()


def test_an_idle_worker_goes_in_three_looks() -> None:
    idle, busy = says(), says(held=5)
    assert shrink(2, 1, [A, B], {"a": idle, "b": busy}) == Moves(retire=("a",))
    retired = {"a": says(retiring=True), "b": busy}
    assert shrink(2, 1, [A, B], retired) == Moves(mark=("a",))
    assert shrink(2, 1, [pod("a", **MARK), B], retired) == Moves(replicas=1)


def test_marks_stay_while_the_controller_has_not_yet_deleted_the_surplus() -> None:
    """Without its mark the idle worker would be as likely to be deleted as the busy one."""
    told = {"a": says(held=5), "b": says(retiring=True)}
    pods = [A, pod("b", **MARK)]
    assert shrink(1, 1, pods, told) == Moves()
    assert shrink(1, 1, pods, {"a": says(held=5)}) == Moves(retire=("b",))
    assert shrink(1, 2, pods, told) == Moves(replicas=2)
    assert shrink(2, 2, pods, told) == Moves(recall=("b",), unmark=("b",))


def test_marks_stay_while_some_of_the_surplus_is_deleted_and_some_is_wanted_again() -> None:
    told = {"a": says(held=5), "b": says(retiring=True), "c": says(retiring=True)}
    pods = [A, pod("b", **MARK), pod("c", **MARK)]
    assert shrink(1, 2, pods, told) == Moves(replicas=2)
    assert shrink(2, 2, pods, told) == Moves()
    assert shrink(2, 2, pods[:2], told) == Moves(recall=("b",), unmark=("b",))


def test_of_busy_workers_the_youngest_retires_and_is_waited_for() -> None:
    busy = {name: says(held=5) for name in "abc"}
    assert shrink(3, 2, [A, B, C], busy) == Moves(retire=("c",))
    busy["c"] = says(held=5, retiring=True)
    assert shrink(3, 2, [A, B, C], busy) == Moves()


def test_who_retires_already_goes_before_who_is_idle() -> None:
    told = {"a": says(held=5, retiring=True), "b": says(), "c": says()}
    assert shrink(3, 2, [A, B, C], told) == Moves()


def test_who_retires_without_need_is_called_back() -> None:
    told = {name: says(retiring=True) for name in "abc"}
    assert shrink(3, 2, [A, B, C], told).recall == ("b", "a")


def test_a_pod_that_has_not_started_goes_without_a_word() -> None:
    told = {"a": says(held=5)}
    assert shrink(2, 1, [A, pending("b")], told) == Moves(mark=("b",))
    assert shrink(2, 1, [A, pending("b", **MARK)], told) == Moves(replicas=1)


def test_pods_that_were_never_made_need_not_go() -> None:
    assert shrink(5, 3, [A, B], {"a": says(held=1), "b": says(held=1)}) == Moves(replicas=3)
    assert shrink(5, 1, [A, B], {"a": says(held=1), "b": says(held=1)}) == Moves(retire=("b",), replicas=2)


def test_a_worker_that_does_not_answer_may_hold_anything() -> None:
    assert shrink(1, 0, [A], {}) == Moves(replicas=0)
    assert shrink(2, 1, [A, pod("b", is_ready=False)], {"a": says()}) == Moves(retire=("b",))


def test_an_idle_worker_goes_before_one_that_does_not_answer() -> None:
    assert shrink(2, 1, [A, B], {"a": says()}) == Moves(retire=("a",))


def test_one_that_is_marked_and_holds_messages_keeps_all_that_could_go_in_its_place() -> None:
    told = {"a": says(retiring=True), "b": says(held=1, retiring=True), "c": says()}
    assert shrink(3, 2, [pod("a", **MARK), pod("b", **MARK), C], told).replicas is None


def test_one_that_the_controller_would_take_first_is_retired_whatever_it_holds() -> None:
    lame = pod("a", is_ready=False)
    told = {"a": says(held=5, ready=False), "b": says(retiring=True)}
    moves = shrink(2, 1, [lame, pod("b", **MARK)], told)
    assert moves == Moves(recall=("b",), unmark=("b",), retire=("a",))


def test_a_worker_whose_time_is_up_goes_with_what_it_holds() -> None:
    told = {"a": says(held=1), "b": says(held=5, retiring=True)}
    assert shrink(2, 1, [A, B], told, late={"b"}) == Moves(mark=("b",))
    assert shrink(2, 1, [A, pod("b", **MARK)], told, late={"b"}) == Moves(replicas=1)


def test_to_none_all_go_and_finish_while_they_end() -> None:
    assert shrink(3, 0, [A, B, C], {"a": says(held=5)}) == Moves(replicas=0)
    assert shrink(0, 0, [], {}) == Moves()


@pytest.mark.parametrize(("wanted", "replicas"), [(1, None), (2, None), (3, 3), (0, 0)])
def test_while_a_revision_gives_way_to_another_there_are_only_more_or_none(wanted: int, replicas: int | None) -> None:
    pods = [pod("a", revision=OLD), pod("b")]
    assert shrink(2, wanted, pods, {"a": says(), "b": says()}, revision=NEW).replicas == replicas


def test_what_is_deleted_or_over_is_not_counted() -> None:
    pods = [A, pod("b", deleting=True), pod("c", phase="Failed")]
    assert shrink(1, 1, pods, {"a": says(held=1)}) == Moves()


def test_nobody_else_can_have_a_mark_that_goes_before_ours() -> None:
    told = {"a": says(held=5), "b": says(retiring=True)}
    moves = shrink(2, 1, [pod("a", deletion_cost=-1000), pod("b", **MARK)], told)
    assert moves == Moves(replicas=1)


@dataclass(slots=True)
class World:
    """A Deployment with a controller that keeps to what Kubernetes promises, and workers that come and go."""

    asked: int
    wanted: int
    pods: dict[str, WorkerPod] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    retiring: set[str] = field(default_factory=set)
    late: set[str] = field(default_factory=set)
    made: int = 0

    def statuses(self, silent: set[str]) -> dict[str, dict[str, Any]]:
        return {
            name: says(held=self.held[name], retiring=name in self.retiring, ready=each.is_ready)
            for name, each in self.pods.items()
            if each.has_engine and name not in silent
        }

    def look(self, draw: "Draw") -> None:
        """Look, decide, and do it; orders may get lost."""
        moves = shrink(
            self.asked, self.wanted, list(self.pods.values()), self.statuses(draw.some_of(self.pods)), late=self.late
        )
        self.retiring -= set(moves.recall) - draw.some_of(moves.recall)
        self.retiring |= set(moves.retire) - draw.some_of(moves.retire)
        for names, cost in ((moves.unmark, 0), (moves.mark, FIRST_TO_GO)):
            for name in names:
                self.pods[name] = replace(self.pods[name], deletion_cost=cost)
        if moves.replicas is not None:
            assert moves.replicas >= min(self.wanted, self.asked)
            self.asked = moves.replicas

    def control(self, draw: "Draw") -> None:
        """Make or delete pods as the controller of a ReplicaSet would; where it weighs more than is known, any goes."""
        while len(self.pods) < self.asked:
            self.made += 1
            name = f"p{self.made:04}"
            self.pods[name], self.held[name] = pending(name), 0
        while len(self.pods) > self.asked:
            first = min(map(controllers_key, self.pods.values()))
            name = draw.one_of([name for name, each in self.pods.items() if controllers_key(each) == first])
            if self.asked:
                assert not self.held[name] or name in self.late, f"{name} went with {self.held[name]} messages"
            del self.pods[name], self.held[name]

    def live(self, draw: "Draw") -> None:
        """Have something happen to each worker."""
        for name, each in list(self.pods.items()):
            happening = draw.one_of(["nothing", "start", "ready", "lame", "pull", "finish"])
            if happening == "start" and not each.has_engine:
                self.pods[name] = replace(each, phase="Running", node=draw.one_of(["n", "m"]), containers=RUNS)
            if each.has_engine and happening in ("ready", "lame"):
                self.pods[name] = replace(each, is_ready=happening == "ready")
            if each.has_engine and happening == "pull" and name not in self.retiring:
                self.held[name] += 1
            if happening == "finish":
                self.held[name] = 0

    def calm_down(self) -> None:
        """Have each worker start, and finish what it holds."""
        for name, each in self.pods.items():
            self.pods[name] = replace(each, phase="Running", node="n", containers=RUNS, is_ready=True)
            self.held[name] = 0


def controllers_key(each: WorkerPod) -> tuple[object, ...]:
    phases = {"Pending": 0, "Unknown": 1, "Running": 2}
    return bool(each.node), phases[each.phase], each.is_ready, each.deletion_cost


@dataclass(frozen=True, slots=True)
class Draw:
    """Chance, as hypothesis has it; or none."""

    data: Any = None

    def one_of(self, choices: list[str]) -> str:
        return choices[0] if self.data is None else str(self.data.draw(some.sampled_from(choices)))

    def some_of(self, names: Any) -> set[str]:  # noqa: ANN401 - any collection of names
        return set() if self.data is None or not names else self.data.draw(some.sets(some.sampled_from(sorted(names))))


@given(data=some.data())
def test_no_step_takes_away_a_worker_that_holds_messages_and_in_the_end_there_are_as_many_as_wanted(data: Any) -> None:  # noqa: ANN401 - hypothesis'
    draw = Draw(data)
    world = World(asked=data.draw(some.integers(1, 6)), wanted=1)
    world.control(draw)
    for _ in range(data.draw(some.integers(0, 12))):
        world.wanted = data.draw(some.integers(1, 6))
        world.live(draw)
        for _ in range(data.draw(some.integers(1, 5))):  # the controller may be slower than the next look
            world.look(draw)
        world.control(draw)
    world.calm_down()
    for _ in range(4):  # called back or told to retire, marked, fewer; and pods that came meanwhile
        world.look(Draw())
        world.control(Draw())
        world.calm_down()
    assert (len(world.pods), world.asked) == (world.wanted, world.wanted)
    assert not any(each.deletion_cost for each in world.pods.values())
    assert not world.retiring & world.pods.keys()


@given(data=some.data())
def test_when_their_time_is_up_workers_go_that_never_let_go(data: Any) -> None:  # noqa: ANN401 - hypothesis'
    world = World(asked=data.draw(some.integers(2, 6)), wanted=1)
    world.control(Draw())
    for name, each in world.pods.items():
        ready = data.draw(some.booleans())
        world.pods[name] = replace(each, phase="Running", node="n", containers=RUNS, is_ready=ready)
        world.held[name] = 1
    for _ in range(3):
        world.look(Draw())
        world.control(Draw())
        world.late = set(world.retiring)
    assert len(world.pods) == world.wanted
