"""The conditions, facts and events of a queue group: each case as a table row, and invariants for any case."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from penstock_operator.plan.decision import ConditionType
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.fleet import Situation, Standing, WorkerPod, ailment_of, standing, stopped_by
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.scaling import NOTHING_YET, Decision, Why
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.resources import QueueGroupStatus
from tests.operator.plan.fleet.fleets import NEW, OLD, PODS, pending, pod, real_deployment, real_pod, says
from tests.operator.plan.workload.workloads import group

Json = dict[str, Any]
READY, AVAILABLE, SCALING, CIRCUIT = (
    ConditionType.READY,
    ConditionType.AVAILABLE,
    ConditionType.SCALING,
    ConditionType.CIRCUIT_OPEN,
)
TWO = Decision(2, Why.WORK, "pending 7, held 3: 1 → 2 workers", NOTHING_YET)
NONE = Decision(0, Why.IDLE, "pending 0, held 0: 0 as before", NOTHING_YET)
UNKNOWN = Decision(0, Why.UNKNOWN, "pending unknown: 0 as before", NOTHING_YET)


def deployment(**status: object) -> Json:
    labels = {"penstock.dev/revision": NEW}
    spec = {"containers": [{"name": "driver", "image": "example/etl:1"}]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {"metadata": {"generation": 1}, "spec": {"replicas": 2, "template": template}, "status": status}


def situation(
    pods: Sequence[WorkerPod] = (),
    statuses: Mapping[str, Json] | None = None,
    of: Declared | None = None,
    **more: Any,  # noqa: ANN401 - any field
) -> Situation:
    """Return a group as it is when all goes well, but for what is said about it."""
    known = {"deployment": deployment(), "pending": 7, "ack_pending": 3, "decision": TWO, "desired": 2}
    return Situation(
        **{"declared": of or group(), "obstacle": None, "pods": pods, "statuses": statuses or {}, **known, **more}
    )


def ailing(name: str, of: str) -> WorkerPod:
    """Return a pod of a real failure, of the revision that is declared."""
    return replace(real_pod(of), name=name, revision=NEW)


def said(of: Standing, kind: ConditionType = READY) -> tuple[str, str, str]:
    [verdict] = [verdict for verdict in of.verdicts if verdict.type is kind]
    return verdict.status, verdict.reason, verdict.message


def told_before(of: Declared, by: Standing) -> Declared:
    """Return the object with this status."""
    conditions = [
        {"type": each.type, "status": each.status, "reason": each.reason, "message": each.message}
        for each in by.verdicts
    ]
    return replace(of, status={**(by.facts or {}), "conditions": conditions})


SPARK = says(ready=False, why="spark", sentence="The driver is not ready. Connection refused: spark.spark:7077.")
BROKEN = says(ready=False, holds=["circuit"], sentence="Batches failed one after the other. The last one: no lake.")
A, B = pod("a"), pod("b")
CUSTOM = group(scaling={"mode": "External"}, replicas=2)
SUSPENDED = group(suspend=True)
NO_IMAGE, TOO_LARGE = ailing("b", "image-is-not-there"), ailing("b", "too-large-for-any-node")
QUOTA_NONE = situation(deployment=real_deployment("quota-is-used-up"), revision=NEW)
QUOTA_A = replace(QUOTA_NONE, pods=[A])
OLD_A = pod("a", revision=OLD)
CODE_GONE = Waiting(Reason.CODE_NOT_FOUND, "There is no ConfigMap.")


WORKING, STARTING, SCALED_TO_ZERO = Reason.WORKING, Reason.STARTING, Reason.SCALED_TO_ZERO
BOTH_ANSWER = {"a": says(), "b": says()}
EXTERNAL_ZERO = situation(of=group(scaling={"mode": "External"}, replicas=0), decision=None, desired=0)
NO_BACKLOG_KNOWN = situation(decision=UNKNOWN, desired=0, pending=None)
INVALID = situation(of=replace(group(), spec=None, fault="It is wrong."))
TWO_WITHOUT_IMAGE = situation([ailing("a", "image-is-not-there"), NO_IMAGE, pending("c")])
TWO_PROBLEMS = situation([ailing("a", "driver-out-of-memory"), TOO_LARGE])
ONE_THERE = situation([A, pod("b", deleting=True), pod("c", phase="Failed")])
NO_TEMPLATE = situation([A], obstacle=Waiting(Reason.TEMPLATE_REFUSED, "Too much."))
READY_OF: dict[tuple[str, Reason], list[tuple[Situation, str]]] = {
    ("True", WORKING): [
        (situation([A, B], BOTH_ANSWER), "2 workers can work."),
        (situation([A, B]), "2 workers can work."),
        (situation([A, pending("b")]), "1 of 2 workers can work."),
        (ONE_THERE, "1 worker can work."),
        (situation([A, TOO_LARGE]), "1 of 2 workers can work. 1 cannot (Unschedulable): No node takes it"),
        (QUOTA_A, "2 cannot (PodsRefused): The API server makes no more pods"),
    ],
    ("True", Reason.ROLLING_OUT): [
        (situation([OLD_A, B]), "1 worker can work. 1 worker of a revision before is still there.")
    ],
    ("True", SCALED_TO_ZERO): [
        (situation(decision=NONE, desired=0), "nothing to do"),
        (EXTERNAL_ZERO, "spec.replicas is 0."),
    ],
    ("False", STARTING): [
        (situation([pending("a"), pending("b")]), "2 workers start."),
        (situation([pending("a")]), "1 worker starts."),
        (situation(), "being made"),
    ],
    ("False", Reason.ROLLING_OUT): [
        (situation([OLD_A, pending("b")]), "Workers of the new revision start. 1 worker is of one before.")
    ],
    ("False", Reason.UNREACHABLE): [(NO_BACKLOG_KNOWN, "Nobody can say")],
    ("False", Reason.SUSPENDED): [
        (situation(of=SUSPENDED, desired=0), "nothing is pulled."),
        (situation([A], of=SUSPENDED, desired=0), "1 worker finishes what it holds."),
    ],
    ("False", Reason.CODE_NOT_FOUND): [(situation(obstacle=CODE_GONE), "There is no ConfigMap.")],
    ("Unknown", Reason.PAUSED): [(situation(obstacle=Waiting(Reason.PAUSED, "Paused.")), "Paused.")],
    ("False", Reason.INVALID): [(INVALID, "It is wrong.")],
    ("False", Reason.IMAGE_NOT_PULLED): [
        (situation([NO_IMAGE]), "A node cannot get the image"),
        (TWO_WITHOUT_IMAGE, "2 of 3 workers: A node cannot get the image"),
        (situation([OLD_A, NO_IMAGE]), "1 worker of a revision before can work."),
    ],
    ("False", Reason.CRASHING): [(TWO_PROBLEMS, "1 of 2 workers: The driver needs more memory")],
    ("False", Reason.CODE_FAILED): [(situation([ailing("a", "code-failed"), B]), "`amout`")],
    ("False", Reason.PODS_REFUSED): [(QUOTA_NONE, "The API server makes no more pods: exceeded quota")],
    ("False", Reason.SPARK_FAILED): [
        (situation([pod("a", is_ready=False)], {"a": SPARK}), "Connection refused: spark.spark:7077.")
    ],
    ("False", Reason.CIRCUIT_OPEN): [(situation([A], {"a": BROKEN}), "The last one: no lake.")],
}
OTHERS: list[tuple[ConditionType, Situation, str, Reason | None, str]] = [
    (AVAILABLE, situation([A]), "True", WORKING, ""),
    (AVAILABLE, situation([OLD_A, NO_IMAGE]), "True", WORKING, ""),
    (AVAILABLE, NO_TEMPLATE, "True", WORKING, ""),
    (AVAILABLE, situation(decision=NONE, desired=0), "True", SCALED_TO_ZERO, ""),
    (AVAILABLE, situation([NO_IMAGE]), "False", Reason.IMAGE_NOT_PULLED, ""),
    (AVAILABLE, situation(of=SUSPENDED, desired=0), "False", Reason.SUSPENDED, ""),
    (SCALING, situation([A]), "True", Reason.BACKLOG, ""),
    (SCALING, situation(decision=UNKNOWN), "False", Reason.BACKLOG_UNKNOWN, ""),
    (SCALING, situation(decision=None, desired=None), "Unknown", STARTING, ""),
    (SCALING, situation(of=CUSTOM, decision=None), "False", Reason.EXTERNAL, ""),
    (SCALING, situation(of=SUSPENDED), "False", Reason.SUSPENDED, ""),
    (CIRCUIT, situation([A, B], {"a": BROKEN, "b": says()}), "True", None, "1 of 2 workers: Batches failed"),
    (CIRCUIT, situation([A], {"a": says()}), "False", None, "No worker waits"),
    (CIRCUIT, situation([A]), "Unknown", None, "No worker has said"),
    (CIRCUIT, situation(), "False", None, "No worker waits"),
]


def test_each_condition_follows_the_situation(subtests: pytest.Subtests) -> None:
    cases = [(READY, of, *expected, sentence) for expected, rows in READY_OF.items() for of, sentence in rows]
    for number, (kind, of, status, reason, sentence) in enumerate([*cases, *OTHERS]):
        with subtests.test(f"{number} {kind} {status} {reason}: {sentence}"):
            found = said(standing(of), kind)
            assert found[0] == status
            assert reason is None or found[1] == reason
            assert sentence in found[2], found[2]


def test_reasons_of_decisions_are_reasons_of_conditions() -> None:
    assert {why.value for why in Why} <= {reason.value for reason in Reason}


def test_message_about_scaling_changes_with_the_decision() -> None:
    once = standing(situation([A, B]))
    assert said(once, SCALING)[2] == "Pending 7, held 3: 1 → 2 workers."
    before = told_before(group(), once)
    later = Decision(2, Why.WORK, "pending 6, held 4: 2 as before", NOTHING_YET)
    assert said(standing(situation([A, B], of=before, decision=later)), SCALING) == said(once, SCALING)
    other = Decision(3, Why.WORK, "pending 900, held 4: 2 → 3 workers", NOTHING_YET)
    assert said(standing(situation([A, B], of=before, decision=other)), SCALING)[2].startswith("Pending 900")


def test_failed_code_stops_its_own_revision_only() -> None:
    pods = [ailing("a", "code-failed")]
    assert stopped_by(NEW, pods, {}) == NEW
    assert stopped_by(NEW, [], {"stoppedRevision": NEW}) == NEW
    assert stopped_by("newer", pods, {"stoppedRevision": NEW}) == ""
    assert stopped_by("", [], {}) == ""


def test_reason_why_the_code_failed_outlives_its_workers() -> None:
    once = standing(situation([ailing("a", "code-failed")]))
    before = told_before(group(), once)
    after = standing(situation(of=before, decision=None, desired=0))
    assert said(after) == said(once)
    assert (after.facts or {})["stoppedRevision"] == NEW
    assert not after.notes


def test_facts_are_those_of_the_status() -> None:
    found = standing(situation([A, B, pod("c", deleting=True)], {"a": says(held=5), "b": says(), "c": says(held=2)}))
    assert found.facts is not None
    known = {name: value for name, value in found.facts.items() if value is not None}
    QueueGroupStatus.read(known)
    replicas = {"replicas": 2, "readyReplicas": 2, "desiredReplicas": 2, "busyReplicas": 2}
    assert known == {**replicas, "pending": 7, "ackPending": 3, "held": 7, "batches": 2, "image": "example/etl:1"}


def test_counters_stay_behind_an_obstacle_and_until_a_new_leader_has_looked() -> None:
    before = told_before(group(), standing(situation([A, B], {"a": says(held=5)})))
    found = standing(situation([A], of=before, obstacle=CODE_GONE)).facts
    assert found is not None
    assert (found["replicas"], found["held"], found["pending"]) == (1, 5, 7)
    assert standing(situation(of=before, obstacle=CODE_GONE, deployment=None)).facts is None
    new: dict[str, Any] = {"decision": None, "desired": None, "pending": None, "ack_pending": None}
    found = standing(situation([A], of=before, is_looked_at=False, selector="chosen", **new)).facts
    assert found is not None
    assert (found["replicas"], found["held"], found["pending"], found["desiredReplicas"]) == (1, 5, 7, 2)
    assert found["selector"] == "chosen"


def test_events_report_changes_and_nothing_else() -> None:
    first = standing(situation([A, B], BOTH_ANSWER))
    assert [(note.reason, note.is_warning) for note in first.notes] == [(Reason.WORKING, False)]
    before = told_before(group(), first)
    assert not standing(situation([A, B], {"a": says(held=9), "b": says()}, of=before)).notes
    three = Decision(3, Why.WORK, "pending 900, held 4: 2 → 3 workers", NOTHING_YET)
    [step] = standing(situation([A, B], of=before, decision=three)).notes
    assert (step.reason, step.message) == (Reason.SCALED, "Pending 900, held 4: 2 → 3 workers.")
    broken = standing(situation([A, B], {"a": BROKEN, "b": says()}, of=before)).notes
    assert [(note.reason, note.is_warning) for note in broken] == [(Reason.CIRCUIT_OPEN, True)]


ANY_POD = some.builds(
    lambda number, of, revision: replace(of, name=f"{of.name}-{number}", revision=revision),
    some.integers(),
    some.sampled_from([A, pending("p"), pod("d", deleting=True), *map(real_pod, PODS)]),
    some.sampled_from([NEW, NEW, OLD]),
)
ANY_STATUS = some.sampled_from([says(), says(held=3), SPARK, BROKEN, says(ready=False, why="starting")])


@given(pods=some.lists(ANY_POD, max_size=6), data=some.data(), desired=some.sampled_from([None, 0, 2]))
def test_ready_is_never_true_while_no_declared_worker_works(
    pods: list[WorkerPod],
    data: Any,  # noqa: ANN401 - hypothesis'
    desired: int | None,
) -> None:
    statuses = {each.name: data.draw(ANY_STATUS) for each in pods if each.has_engine and data.draw(some.booleans())}
    found = standing(situation(pods, statuses, desired=desired))
    current = [each for each in pods if each.is_there and each.revision == NEW]
    at_work = [each for each in current if (statuses[each.name]["ready"] if each.name in statuses else each.is_ready)]
    if not at_work and any(ailment_of(each) for each in current):
        assert said(found)[0] == "False"
    if not at_work and current:
        assert said(found)[0] != "True"
    assert all(verdict.message for verdict in found.verdicts)
    losses = [ConditionType.MESSAGES_EXPIRED, ConditionType.MESSAGES_GIVEN_UP]
    assert [verdict.type for verdict in found.verdicts] == [READY, AVAILABLE, SCALING, CIRCUIT, *losses]
    assert standing(situation(pods, statuses, desired=desired)) == found
