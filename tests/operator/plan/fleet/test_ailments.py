"""Problems of a worker's pod, recognised in pods of real failures."""

import pytest

from penstock_operator.plan.fleet import ailment_of, read_deployment
from penstock_operator.plan.reasons import Reason
from tests.operator.plan.fleet.fleets import DEPLOYMENTS, PODS, real_deployment, real_pod

WELL = {
    "ready",
    "not-ready",
    "pods-are-made",
    "driver-is-made",
    "being-deleted",
    "evicted-and-ended-well",
    "nobody-schedules-it",
    "secret-of-a-volume-is-not-there",  # which only events tell: Connections say that their Secrets are missing
}
AILING = {
    "image-is-not-there": (
        Reason.IMAGE_NOT_PULLED,
        "image 127.0.0.1:1/example/etl:1.4 of the driver",
        "dial tcp 127.0.0.1:1: connect: connection refused",
        "spec.handler.image",
    ),
    "image-has-no-name": (Reason.IMAGE_NOT_PULLED, "example/ETL:1", "must be lowercase"),
    "image-is-never-pulled": (Reason.IMAGE_NOT_PULLED, "example/absent:1", "pull policy of Never"),
    "image-of-the-engine-is-not-there": (Reason.IMAGE_NOT_PULLED, "of the engine", "the operator's worker image"),
    "secret-of-a-variable-is-not-there": (Reason.SECRET_NOT_FOUND, "the driver", 'secret "lake" not found.'),
    "key-of-a-variable-is-not-there": (Reason.PODS_REFUSED, "the driver", "couldn't find key absent in ConfigMap"),
    "image-runs-as-root": (Reason.PODS_REFUSED, "the engine", "image will run as root."),
    "claim-is-not-there": (Reason.UNSCHEDULABLE, 'persistentvolumeclaim "lake" not found', "spec.template"),
    "too-large-for-any-node": (Reason.UNSCHEDULABLE, "1 Insufficient cpu. Ask for less", ""),
    "no-node-has-the-label": (Reason.UNSCHEDULABLE, "didn't match Pod's node affinity/selector. Ask", ""),
    "held-back-by-a-gate": (Reason.UNSCHEDULABLE, "scheduling gates", ""),
    "driver-cannot-be-started": (Reason.CRASHING, 'exec: "python": executable file not found', "built from"),
    "driver-out-of-memory": (Reason.CRASHING, "containers[driver].resources.limits.memory", "spec.batch.maxBytes"),
    "engine-out-of-memory": (Reason.CRASHING, "initContainers[engine].resources.limits.memory", ""),
    "code-failed": (Reason.CODE_FAILED, "column `amout` does not exist (etl.py, line 7).", ""),
    "settings-of-the-driver-are-wrong": (Reason.INVALID, "The driver cannot use", "driver.conf: it is missing."),
    "settings-of-the-engine-are-wrong": (Reason.INVALID, "The engine cannot use", "driver.conf: it is missing."),
    "driver-crashes": (Reason.CRASHING, "exit code 1", "ValueError: no"),
    "driver-ends-by-itself": (Reason.CRASHING, "exit code 0", "does not say why"),
    "engine-crashes-without-a-word": (Reason.CRASHING, "The engine ends again and again", "does not say why"),
    "driver-does-not-answer-its-probe": (Reason.CRASHING, "The driver", ""),
    "evicted": (Reason.CRASHING, "Evicted", 'volume "penstock-work" exceeds the limit'),
}
AT_ANOTHER_ATTEMPT = {
    "image-is-not-there-and-the-kubelet-waits": "image-is-not-there",
    "code-failed-right-now": "code-failed",
    "driver-crashed-right-now": "driver-crashes",
    "driver-cannot-be-started-and-the-kubelet-waits": "driver-cannot-be-started",
    "driver-runs-again-after-two-ends": "driver-does-not-answer-its-probe",
}
"""Pods whose problem has the same words as that of the other pod."""
REFUSALS = {
    "quota-is-used-up": "exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1",
    "service-account-is-not-there": 'serviceaccount "absent" not found',
    "pod-security-refuses": 'violates PodSecurity "restricted:latest": privileged (container "driver"',
    "priority-is-not-there": "no PriorityClass with name absent was found",
    "works": "",
    "progresses": "",
}


def test_each_recorded_pod_and_deployment_has_a_case() -> None:
    assert WELL | AILING.keys() | AT_ANOTHER_ATTEMPT.keys() == PODS.keys()
    assert REFUSALS.keys() == DEPLOYMENTS.keys()


def test_problem_of_a_pod_has_a_reason_and_a_remedy(subtests: pytest.Subtests) -> None:
    for name in WELL:
        with subtests.test(name):
            assert ailment_of(real_pod(name)) is None
    for name, (reason, *said) in AILING.items():
        with subtests.test(name):
            ailment = ailment_of(real_pod(name))
            assert ailment is not None
            assert ailment.reason is reason
            assert all(each in ailment.message for each in said), ailment.message
            assert real_pod(name).name not in ailment.message, "it would be another sentence for each pod"
    for one, other in AT_ANOTHER_ATTEMPT.items():
        with subtests.test(one):
            assert ailment_of(real_pod(one)) == ailment_of(real_pod(other))


def test_state_of_a_pod_is_read() -> None:
    ready, deleted, unscheduled = (real_pod(name) for name in ("ready", "being-deleted", "too-large-for-any-node"))
    assert (ready.is_ready, ready.has_engine, ready.is_there, ready.node) == (True, True, True, "node")
    assert len(ready.revision) == 16
    assert (deleted.deleting, deleted.is_there) == (True, False)
    assert (unscheduled.has_engine, unscheduled.node, unscheduled.phase) == (False, "", "Pending")
    assert not real_pod("evicted").is_there


def test_deployment_says_why_its_pods_cannot_be_made(subtests: pytest.Subtests) -> None:
    for name, refusal in REFUSALS.items():
        with subtests.test(name):
            found = read_deployment(real_deployment(name))
            assert refusal in found.refused
            assert bool(found.refused) == bool(refusal)
            assert "forbidden" not in found.refused
            assert found.is_seen
            assert len(found.revision) == 16
