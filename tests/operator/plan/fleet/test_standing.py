"""What is said of a queue group: each case as a table row, and what may never be said."""

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
    """Have what was said be written in the status."""
    conditions = [
        {"type": each.type, "status": each.status, "reason": each.reason, "message": each.message}
        for each in by.verdicts
    ]
    return replace(of, status={**(by.facts or {}), "conditions": conditions})


SPARK = says(ready=False, why="spark", sentence="The driver is not ready. Connection refused: spark.spark:7077.")
BROKEN = says(ready=False, holds=["circuit"], sentence="Batches failed one after the other. The last one: no lake.")
A, B = pod("a"), pod("b")
CASES: dict[str, tuple[Situation, str, Reason, str]] = {
    "all work": (situation([A, B], {"a": says(), "b": says()}), "True", Reason.WORKING, "2 workers can work."),
    "Kubernetes alone says that they work": (situation([A, B]), "True", Reason.WORKING, "2 workers can work."),
    "one starts": (situation([A, pending("b")]), "True", Reason.WORKING, "1 of 2 workers can work."),
    "all start": (situation([pending("a"), pending("b")]), "False", Reason.STARTING, "2 workers start."),
    "one starts, of one": (situation([pending("a")]), "False", Reason.STARTING, "1 worker starts."),
    "none is made yet": (situation(), "False", Reason.STARTING, "being made"),
    "nothing to do": (situation(decision=NONE, desired=0), "True", Reason.SCALED_TO_ZERO, "nothing to do"),
    "nobody knows whether there is anything to do": (
        situation(decision=UNKNOWN, desired=0, pending=None),
        "False",
        Reason.UNREACHABLE,
        "Nobody can say",
    ),
    "nobody is to work": (
        situation(of=group(scaling={"mode": "External"}, replicas=0), decision=None, desired=0),
        "True",
        Reason.SCALED_TO_ZERO,
        "spec.replicas is 0.",
    ),
    "suspended": (situation(of=group(suspend=True), desired=0), "False", Reason.SUSPENDED, "nothing is pulled."),
    "suspended, and some end": (
        situation([A], of=group(suspend=True), desired=0),
        "False",
        Reason.SUSPENDED,
        "1 worker finishes what it holds.",
    ),
    "an obstacle": (
        situation(obstacle=Waiting(Reason.CODE_NOT_FOUND, "There is no ConfigMap.")),
        "False",
        Reason.CODE_NOT_FOUND,
        "There is no ConfigMap.",
    ),
    "paused": (situation(obstacle=Waiting(Reason.PAUSED, "Paused.")), "Unknown", Reason.PAUSED, "Paused."),
    "a spec that nobody understands": (
        situation(of=replace(group(), spec=None, fault="It is wrong.")),
        "False",
        Reason.INVALID,
        "It is wrong.",
    ),
    "an image that is not there": (
        situation([ailing("a", "image-is-not-there")]),
        "False",
        Reason.IMAGE_NOT_PULLED,
        "A node cannot get the image",
    ),
    "two of three without an image": (
        situation([ailing("a", "image-is-not-there"), ailing("b", "image-is-not-there"), pending("c")]),
        "False",
        Reason.IMAGE_NOT_PULLED,
        "2 of 3 workers: A node cannot get the image",
    ),
    "one of several that is too large": (
        situation([A, ailing("b", "too-large-for-any-node")]),
        "True",
        Reason.WORKING,
        "1 of 2 workers can work. 1 cannot (Unschedulable): No node takes it",
    ),
    "the worst of several": (
        situation([ailing("a", "too-large-for-any-node"), ailing("b", "driver-out-of-memory")]),
        "False",
        Reason.CRASHING,
        "1 of 2 workers: The driver needs more memory",
    ),
    "code that fails": (situation([ailing("a", "code-failed"), B]), "False", Reason.CODE_FAILED, "`amout`"),
    "a quota": (
        situation(deployment=real_deployment("quota-is-used-up"), revision=NEW),
        "False",
        Reason.PODS_REFUSED,
        "The API server makes no more pods: exceeded quota",
    ),
    "a quota for some": (
        situation([A], deployment=real_deployment("quota-is-used-up"), revision=NEW),
        "True",
        Reason.WORKING,
        "2 cannot (PodsRefused): The API server makes no more pods",
    ),
    "a Spark that refuses": (
        situation([pod("a", is_ready=False)], {"a": SPARK}),
        "False",
        Reason.SPARK_FAILED,
        "Connection refused: spark.spark:7077.",
    ),
    "a circuit that is open": (situation([A], {"a": BROKEN}), "False", Reason.CIRCUIT_OPEN, "The last one: no lake."),
    "a new revision among the old": (
        situation([pod("a", revision=OLD), B]),
        "True",
        Reason.ROLLING_OUT,
        "1 worker can work. 1 worker of a revision before is still there.",
    ),
    "a new revision that starts": (
        situation([pod("a", revision=OLD), pending("b")]),
        "False",
        Reason.ROLLING_OUT,
        "Workers of the new revision start. 1 worker is of one before.",
    ),
    "a new revision that cannot start": (
        situation([pod("a", revision=OLD), ailing("b", "image-is-not-there")]),
        "False",
        Reason.IMAGE_NOT_PULLED,
        "1 worker of a revision before can work.",
    ),
    "what ends does not count": (
        situation([A, pod("b", deleting=True), pod("c", phase="Failed")]),
        "True",
        Reason.WORKING,
        "1 worker can work.",
    ),
}


@pytest.mark.parametrize(("of", "status", "reason", "sentence"), CASES.values(), ids=CASES)
def test_ready_is_what_matters_most(of: Situation, status: str, reason: Reason, sentence: str) -> None:
    found = said(standing(of))
    assert found[:2] == (status, reason)
    assert sentence in found[2], found[2]


@pytest.mark.parametrize(
    ("of", "status", "reason"),
    [
        (situation([A]), "True", Reason.WORKING),
        (situation([pod("a", revision=OLD), ailing("b", "image-is-not-there")]), "True", Reason.WORKING),
        (situation([A], obstacle=Waiting(Reason.TEMPLATE_REFUSED, "Too much.")), "True", Reason.WORKING),
        (situation(decision=NONE, desired=0), "True", Reason.SCALED_TO_ZERO),
        (situation([ailing("b", "image-is-not-there")]), "False", Reason.IMAGE_NOT_PULLED),
        (situation(of=group(suspend=True), desired=0), "False", Reason.SUSPENDED),
    ],
)
def test_available_is_true_if_any_worker_works_or_none_is_needed(of: Situation, status: str, reason: Reason) -> None:
    assert said(standing(of), AVAILABLE)[:2] == (status, reason)


@pytest.mark.parametrize(
    ("of", "status", "reason"),
    [
        (situation([A]), "True", Reason.BACKLOG),
        (situation(decision=UNKNOWN), "False", Reason.BACKLOG_UNKNOWN),
        (situation(decision=None, desired=None), "Unknown", Reason.STARTING),
        (situation(of=group(scaling={"mode": "External"}, replicas=2), decision=None), "False", Reason.EXTERNAL),
        (situation(of=group(suspend=True)), "False", Reason.SUSPENDED),
    ],
)
def test_scaling_says_who_decides_and_why(of: Situation, status: str, reason: Reason) -> None:
    assert said(standing(of), SCALING)[:2] == (status, reason)


def test_every_word_of_a_decision_is_a_reason() -> None:
    assert {why.value for why in Why} <= {reason.value for reason in Reason}


def test_the_sentence_of_a_decision_changes_when_the_decision_does() -> None:
    once = standing(situation([A, B]))
    assert said(once, SCALING)[2] == "Pending 7, held 3: 1 → 2 workers."
    before = told_before(group(), once)
    later = Decision(2, Why.WORK, "pending 6, held 4: 2 as before", NOTHING_YET)
    assert said(standing(situation([A, B], of=before, decision=later)), SCALING) == said(once, SCALING)
    other = Decision(3, Why.WORK, "pending 900, held 4: 2 → 3 workers", NOTHING_YET)
    assert said(standing(situation([A, B], of=before, decision=other)), SCALING)[2].startswith("Pending 900")


@pytest.mark.parametrize(
    ("of", "status", "sentence"),
    [
        (situation([A, B], {"a": BROKEN, "b": says()}), "True", "1 of 2 workers: Batches failed"),
        (situation([A], {"a": says()}), "False", "No worker waits"),
        (situation([A]), "Unknown", "No worker has said"),
        (situation(), "False", "No worker waits"),
    ],
)
def test_an_open_circuit_is_told_as_soon_as_one_worker_has_it(of: Situation, status: str, sentence: str) -> None:
    found = said(standing(of), CIRCUIT)
    assert found[0] == status
    assert sentence in found[2]


def test_code_that_failed_stops_its_revision_and_no_other() -> None:
    pods = [ailing("a", "code-failed")]
    assert stopped_by(NEW, pods, {}) == NEW
    assert stopped_by(NEW, [], {"stoppedRevision": NEW}) == NEW
    assert stopped_by("newer", pods, {"stoppedRevision": NEW}) == ""
    assert stopped_by("", [], {}) == ""


def test_why_the_code_failed_is_still_told_when_its_workers_are_gone() -> None:
    once = standing(situation([ailing("a", "code-failed")]))
    before = told_before(group(), once)
    after = standing(situation(of=before, decision=None, desired=0))
    assert said(after) == said(once)
    assert (after.facts or {})["stoppedRevision"] == NEW
    assert not after.notes


def test_facts_are_what_the_status_has() -> None:
    found = standing(situation([A, B, pod("c", deleting=True)], {"a": says(held=5), "b": says(), "c": says(held=2)}))
    assert found.facts is not None
    known = {name: value for name, value in found.facts.items() if value is not None}
    QueueGroupStatus.read(known)
    assert known == {
        "replicas": 2,
        "readyReplicas": 2,
        "desiredReplicas": 2,
        "busyReplicas": 2,
        "pending": 7,
        "ackPending": 3,
        "held": 7,
        "batches": 2,
        "image": "example/etl:1",
    }


def test_where_something_is_in_the_way_the_counters_stay_that_were_told_last() -> None:
    once = standing(situation([A, B], {"a": says(held=5)}))
    before, waiting = told_before(group(), once), Waiting(Reason.CODE_NOT_FOUND, "Gone.")
    found = standing(situation([A], of=before, obstacle=waiting)).facts
    assert found is not None
    assert (found["replicas"], found["held"], found["pending"]) == (1, 5, 7)
    assert standing(situation(of=before, obstacle=waiting, deployment=None)).facts is None


def test_who_leads_anew_leaves_the_counters_until_it_has_looked() -> None:
    before = told_before(group(), standing(situation([A, B], {"a": says(held=5)})))
    new: dict[str, Any] = {"decision": None, "desired": None, "pending": None, "ack_pending": None}
    found = standing(situation([A], of=before, is_looked_at=False, selector="chosen", **new)).facts
    assert found is not None
    assert (found["replicas"], found["held"], found["pending"], found["desiredReplicas"]) == (1, 5, 7, 2)
    assert found["selector"] == "chosen"


def test_events_tell_of_changes_and_of_nothing_else() -> None:
    first = standing(situation([A, B], {"a": says(), "b": says()}))
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
def test_ready_is_never_true_when_what_is_declared_cannot_start_and_none_of_it_works(
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
    assert [verdict.type for verdict in found.verdicts] == [READY, AVAILABLE, SCALING, CIRCUIT]
    assert standing(situation(pods, statuses, desired=desired)) == found
