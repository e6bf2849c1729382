"""Scaling down: which workers retire, which are marked, and how far replicas fall. No worker goes with messages."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as some

from penstock_operator.plan.fleet import FIRST_TO_GO, Moves, WorkerPod, shrink
from tests.operator.plan.fleet.fleets import NEW, OLD, RUNS, pending, pod, says

Json = dict[str, Any]
MARK = {"deletion_cost": FIRST_TO_GO}
A, B, C = pod("a"), pod("b"), pod("c")
"""From the oldest to the youngest."""
MARKED_A, MARKED_B = pod("a", **MARK), pod("b", **MARK)
IDLE, BUSY, RETIRED, RETIRING = says(), says(held=5), says(retiring=True), says(held=5, retiring=True)


class Case(NamedTuple):
    replicas: int
    wanted: int
    pods: list[WorkerPod]
    told: dict[str, Json]
    moves: Moves


CASES = {
    "more: at once, and retiring ones stay": Case(
        2, 5, [A, MARKED_B], {"a": RETIRED, "b": IDLE}, Moves(recall=("a",), unmark=("b",), replicas=5)
    ),
    "as many as there are": Case(2, 2, [A, B], {"a": BUSY, "b": IDLE}, Moves()),
    "an idle worker retires": Case(2, 1, [A, B], {"a": IDLE, "b": BUSY}, Moves(retire=("a",))),
    "then it is marked": Case(2, 1, [A, B], {"a": RETIRED, "b": BUSY}, Moves(mark=("a",))),
    "then it goes": Case(2, 1, [MARKED_A, B], {"a": RETIRED, "b": BUSY}, Moves(replicas=1)),
    "all are busy: the youngest retires": Case(3, 2, [A, B, C], dict.fromkeys("abc", BUSY), Moves(retire=("c",))),
    "a retiring worker finishes": Case(3, 2, [A, B, C], {"a": BUSY, "b": BUSY, "c": RETIRING}, Moves()),
    "a retiring worker goes before idle ones": Case(3, 2, [A, B, C], {"a": RETIRING, "b": IDLE, "c": IDLE}, Moves()),
    "a pod that has not started is marked at once": Case(2, 1, [A, pending("b")], {"a": BUSY}, Moves(mark=("b",))),
    "a marked pod that has not started goes": Case(2, 1, [A, pending("b", **MARK)], {"a": BUSY}, Moves(replicas=1)),
    "pods that were never made need not go": Case(5, 3, [A, B], {"a": BUSY, "b": BUSY}, Moves(replicas=3)),
    "pods that were never made go first": Case(5, 1, [A, B], {"a": BUSY, "b": BUSY}, Moves(retire=("b",), replicas=2)),
    "workers that retire without need are recalled": Case(
        3, 2, [A, B, C], dict.fromkeys("abc", RETIRED), Moves(recall=("b", "a"), mark=("c",))
    ),
    "a marked worker with messages keeps all that could go in its place": Case(
        3, 2, [MARKED_A, MARKED_B, C], {"a": RETIRED, "b": RETIRING, "c": IDLE}, Moves(recall=("b",), unmark=("b",))
    ),
    "to none, without an answer": Case(1, 0, [A], {}, Moves(replicas=0)),
    "a lame worker without an answer retires": Case(
        2, 1, [A, pod("b", is_ready=False)], {"a": IDLE}, Moves(retire=("b",))
    ),
    "an idle worker goes before one without an answer": Case(2, 1, [A, B], {"a": IDLE}, Moves(retire=("a",))),
    "the controller would take a lame worker first, whatever it holds": Case(
        2,
        1,
        [pod("a", is_ready=False), MARKED_B],
        {"a": says(held=5, ready=False), "b": RETIRED},
        Moves(recall=("b",), unmark=("b",), retire=("a",)),
    ),
    "to none all go, and finish while they end": Case(3, 0, [A, B, C], {"a": BUSY}, Moves(replicas=0)),
    "none to none": Case(0, 0, [], {}, Moves()),
    "deleted and failed pods do not count": Case(
        1, 1, [A, pod("b", deleting=True), pod("c", phase="Failed")], {"a": BUSY}, Moves()
    ),
    "a foreign deletion cost never goes before ours": Case(
        2, 1, [pod("a", deletion_cost=-1000), MARKED_B], {"a": BUSY, "b": RETIRED}, Moves(replicas=1)
    ),
}


def test_moves_of_a_fleet_that_shrinks(subtests: pytest.Subtests) -> None:
    for name, (replicas, wanted, pods, told, moves) in CASES.items():
        with subtests.test(name):
            assert shrink(replicas, wanted, pods, told) == moves


def test_marks_stay_while_the_controller_has_not_deleted_the_surplus() -> None:
    """Without its mark the idle worker would be as likely to be deleted as the busy one."""
    told, pods = {"a": BUSY, "b": RETIRED}, [A, MARKED_B]
    assert shrink(1, 1, pods, told) == Moves()
    assert shrink(1, 1, pods, {"a": BUSY}) == Moves(retire=("b",))
    assert shrink(1, 2, pods, told) == Moves(replicas=2)
    assert shrink(2, 2, pods, told) == Moves(recall=("b",), unmark=("b",))


def test_marks_stay_while_part_of_the_surplus_is_deleted_and_part_is_wanted_again() -> None:
    told = {"a": BUSY, "b": RETIRED, "c": RETIRED}
    pods = [A, MARKED_B, pod("c", **MARK)]
    assert shrink(1, 2, pods, told) == Moves(replicas=2)
    assert shrink(2, 2, pods, told) == Moves()
    assert shrink(2, 2, pods[:2], told) == Moves(recall=("b",), unmark=("b",))


def test_late_worker_goes_with_its_messages() -> None:
    told = {"a": BUSY, "b": RETIRING}
    assert shrink(2, 1, [A, B], told, late={"b"}) == Moves(mark=("b",))
    assert shrink(2, 1, [A, MARKED_B], told, late={"b"}) == Moves(replicas=1)


def test_rollout_allows_only_more_workers_or_none() -> None:
    pods = [pod("a", revision=OLD), pod("b")]
    for wanted, replicas in ((1, None), (2, None), (3, 3), (0, 0)):
        assert shrink(2, wanted, pods, {"a": IDLE, "b": IDLE}, revision=NEW).replicas == replicas


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
        """Decide, and carry it out; orders may get lost."""
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
        """Make or delete pods like a ReplicaSet controller; any pod where it weighs more than is known."""
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
def test_no_step_removes_a_worker_with_messages_and_the_wanted_number_is_reached(data: Any) -> None:  # noqa: ANN401 - hypothesis'
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
    for _ in range(4):  # recalled or retired, marked, fewer; and pods that came in between
        world.look(Draw())
        world.control(Draw())
        world.calm_down()
    assert (len(world.pods), world.asked) == (world.wanted, world.wanted)
    assert not any(each.deletion_cost for each in world.pods.values())
    assert not world.retiring & world.pods.keys()


@given(data=some.data())
def test_stuck_workers_go_when_they_are_late(data: Any) -> None:  # noqa: ANN401 - hypothesis'
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
