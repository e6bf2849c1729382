"""Breaches of the pod security standards: each rule, judged as a real API server's admission judges the same pod."""

import json
import uuid
from http import HTTPStatus
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as some

from penstock_operator.plan.workload import PodSecurity
from penstock_operator.plan.workload.merging import merged
from penstock_operator.plan.workload.pod_security import breaches
from tests.operator.plan.workload.workloads import group, made, pod_of
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.kubernetes.client import RefusedError

Json = dict[str, Any]
EXAMPLES = 300
BASELINE, RESTRICTED = PodSecurity.BASELINE, PodSecurity.RESTRICTED
LEVELS: tuple[PodSecurity, ...] = (BASELINE, RESTRICTED)
POD = pod_of(made(group()))
SIDECAR: Json = {"name": "proxy", "image": "example/proxy"}


def driver(**fields: object) -> Json:
    return {"containers": [{"name": "driver", **fields}]}


def engine(**fields: object) -> Json:
    return {"initContainers": [{"name": "engine", **fields}]}


def context(**fields: object) -> Json:
    return driver(securityContext=fields)


def pods(**fields: object) -> Json:
    return {"securityContext": fields}


def volume(**source: object) -> Json:
    return {"volumes": [{"name": "more", **source}]}


ASKING = {"httpGet": {"port": 1, "host": "127.0.0.1"}}
FINE_VOLUMES: Json = {
    "persistentVolumeClaim": {"claimName": "a"},
    "configMap": {"name": "a"},
    "secret": {"secretName": "a"},
    "csi": {"driver": "a"},
    "emptyDir": {},
    "projected": {"sources": [{"serviceAccountToken": {"path": "a"}}]},
    "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]},
    "image": {"reference": "example/data:1"},
}


BEYOND_BASELINE: list[tuple[Json, str]] = [
    ({"hostNetwork": True}, "hostNetwork must not be true"),
    ({"hostPID": True}, "hostPID must not be true"),
    ({"hostIPC": True}, "hostIPC must not be true"),
    (
        context(privileged=True, allowPrivilegeEscalation=None),
        "containers[driver].securityContext.privileged must not be",
    ),
    (
        engine(securityContext={"privileged": True, "allowPrivilegeEscalation": True}),
        "initContainers[engine].securityContext.privileged must not be true",
    ),
    (context(capabilities={"add": ["NET_ADMIN"]}), "must not have NET_ADMIN"),
    (volume(hostPath={"path": "/"}), "volumes[more] must not be of the type hostPath"),
    (driver(ports=[{"containerPort": 9, "hostPort": 9}]), "must not have hostPort 9"),
    (driver(livenessProbe=ASKING), "containers[driver].livenessProbe.httpGet must not have a host, as 127.0.0.1"),
    (
        driver(lifecycle={"preStop": {"httpGet": {"port": 1, "host": "a"}}}),
        "lifecycle.preStop.httpGet must not have a host",
    ),
    (context(appArmorProfile={"type": "Unconfined"}), "appArmorProfile.type must be"),
    (pods(appArmorProfile={"type": "Unconfined"}), "appArmorProfile.type must be"),
    (context(seccompProfile={"type": "Unconfined"}), "seccompProfile.type must be"),
    (pods(seccompProfile={"type": "Unconfined"}), "seccompProfile.type must be"),
    (pods(seLinuxOptions={"user": "a"}), "seLinuxOptions.user must not be set"),
    (context(seLinuxOptions={"role": "a"}), "seLinuxOptions.role must not be set"),
    (context(seLinuxOptions={"type": "spc_t"}), "type must not be spc_t"),
    ({**context(procMount="Unmasked"), "hostUsers": False}, "procMount must not be Unmasked"),
    (pods(sysctls=[{"name": "kernel.msgmax", "value": "1"}]), "sysctls must not have kernel.msgmax"),
]
BEYOND_RESTRICTED: list[tuple[Json, str]] = [
    (context(capabilities={"add": ["CHOWN"]}), "must not have CHOWN"),
    (context(capabilities={"drop": ["KILL"]}), "capabilities.drop must have ALL"),
    (context(capabilities=None), "capabilities.drop must have ALL"),
    (volume(nfs={"server": "a", "path": "/"}), "volumes[more] must not be of the type nfs"),
    (volume(iscsi={"targetPortal": "a:1", "iqn": "iqn.2001-04.a:b", "lun": 0}), "iscsi"),
    (pods(seccompProfile=None), "seccompProfile must be set"),
    (context(allowPrivilegeEscalation=True), "allowPrivilegeEscalation must be false"),
    (context(allowPrivilegeEscalation=None), "must be false"),
    (pods(runAsUser=0), "runAsUser must not be 0"),
    (context(runAsUser=0), "runAsUser must not be 0"),
    (pods(runAsNonRoot=False), "runAsNonRoot must not be false"),
    (context(runAsNonRoot=False), "runAsNonRoot must be true"),
    (pods(runAsNonRoot=None), "runAsNonRoot must be true"),
    ({"containers": [SIDECAR]}, "containers[proxy]"),
]
NON_ROOT: Json = {"runAsNonRoot": True}
FINE: list[Json] = [
    {},
    {"hostNetwork": False},
    context(capabilities={"add": ["NET_BIND_SERVICE"]}),
    *(volume(**{name: source}) for name, source in FINE_VOLUMES.items()),
    driver(ports=[{"containerPort": 9}]),
    pods(appArmorProfile={"type": "Localhost", "localhostProfile": "a"}),
    pods(seccompProfile={"$patch": "replace", "type": "Localhost", "localhostProfile": "a"}),
    pods(seLinuxOptions={"level": "s0", "type": "container_t"}),
    pods(sysctls=[{"name": "net.ipv4.tcp_rmem", "value": "1"}]),
    {**pods(runAsNonRoot=None, runAsUser=None), **context(**NON_ROOT), **engine(securityContext=NON_ROOT)},
    pods(runAsUser=None, runAsGroup=None, fsGroup=None),
    context(readOnlyRootFilesystem=False),
    {"containers": [{**SIDECAR, "securityContext": POD["spec"]["containers"][0]["securityContext"]}]},
]


class Admission:
    """An API server with a namespace for each standard."""

    def __init__(self, plane: Access) -> None:
        self._client = plane.client
        self._namespaces = {level: f"{level}-{uuid.uuid4().hex[:10]}" for level in LEVELS}
        for level, name in self._namespaces.items():
            Namespace.create(plane, name)
            self._client.label(f"namespace/{name}", {"pod-security.kubernetes.io/enforce": str(level)})

    def admits(self, level: PodSecurity, pod: Json) -> bool | None:
        """Return whether a pod is admitted; None if it is invalid."""
        path = f"/api/v1/namespaces/{self._namespaces[level]}/pods"
        try:
            self._client.request("POST", path, pod, query={"dryRun": "All"})
        except RefusedError as refusal:
            if refusal.status == HTTPStatus.FORBIDDEN and "violates PodSecurity" not in str(refusal):
                raise
            return False if refusal.status == HTTPStatus.FORBIDDEN else None
        return True


@pytest.fixture(scope="module")
def admission(control_plane: Access) -> Admission:
    return Admission(control_plane)


def with_template(patch: Json) -> Json:
    """Return the pod of a group with this in its template."""
    return {**POD, "spec": merged(POD["spec"], patch)}


def test_field_that_is_too_much_is_reported_exactly_where_the_api_server_refuses_it(
    admission: Admission, subtests: pytest.Subtests
) -> None:
    table = [(patch, LEVELS, said) for patch, said in BEYOND_BASELINE]
    table += [(patch, (RESTRICTED,), said) for patch, said in BEYOND_RESTRICTED]
    table += [(patch, (), "") for patch in FINE]
    for patch, beyond, said in table:
        with subtests.test(f"{said} {patch}"):
            pod = with_template(patch)
            found = {level: breaches(level, pod["metadata"], pod["spec"]) for level in LEVELS}
            assert tuple(level for level in LEVELS if found[level]) == beyond
            assert all(any(said in sentence for sentence in found[level]) for level in beyond)
            assert tuple(level for level in LEVELS if admission.admits(level, pod) is False) == beyond
            assert all(admission.admits(level, pod) for level in LEVELS if level not in beyond)
    assert not breaches(PodSecurity.PRIVILEGED, POD["metadata"], with_template({"hostNetwork": True})["spec"])


def test_annotation_of_apparmor_is_judged_too(admission: Admission) -> None:
    for profile, admitted in (("unconfined", False), ("runtime/default", True), ("localhost/a", True)):
        mark = {"container.apparmor.security.beta.kubernetes.io/driver": profile}
        pod = {**POD, "metadata": {**POD["metadata"], "annotations": {**POD["metadata"]["annotations"], **mark}}}
        for level in LEVELS:
            assert bool(breaches(level, pod["metadata"], pod["spec"])) is not admitted
            assert admission.admits(level, pod) is admitted


CONTEXT = some.fixed_dictionaries(
    {},
    optional={
        "privileged": some.none() | some.booleans(),
        "allowPrivilegeEscalation": some.none() | some.booleans(),
        "runAsNonRoot": some.none() | some.booleans(),
        "runAsUser": some.sampled_from([None, 0, 1]),
        "procMount": some.sampled_from([None, "Default"]),
        "seccompProfile": some.sampled_from([None, {"type": "Unconfined"}, {"type": "RuntimeDefault"}]),
        "appArmorProfile": some.sampled_from([None, {"type": "Unconfined"}, {"type": "RuntimeDefault"}]),
        "seLinuxOptions": some.sampled_from([None, {"type": "container_t"}, {"type": "x"}, {"level": "s0"}]),
        "capabilities": some.fixed_dictionaries(
            {},
            optional={
                "add": some.lists(some.sampled_from(["CHOWN", "NET_BIND_SERVICE", "SYS_ADMIN", "ALL"]), max_size=2),
                "drop": some.lists(some.sampled_from(["ALL", "CHOWN", "all"]), max_size=2),
            },
        ),
    },
)
PODS = ("runAsNonRoot", "runAsUser", "seccompProfile", "appArmorProfile", "seLinuxOptions")
CONTAINER = some.fixed_dictionaries(
    {},
    optional={
        "securityContext": CONTEXT,
        "ports": some.lists(some.sampled_from([{"containerPort": 5}, {"containerPort": 6, "hostPort": 6}]), max_size=1),
        "livenessProbe": some.sampled_from(
            [None, ASKING, {"$patch": "replace", "tcpSocket": {"port": 1, "host": "a"}}]
        ),
    },
)
VOLUMES: list[Json] = [
    {"name": "a", "hostPath": {"path": "/"}},
    {"name": "b", "nfs": {"server": "a", "path": "/"}},
    {"name": "c", "emptyDir": {}},
]
FIELDS: dict[str, some.SearchStrategy[Any]] = {
    "securityContext": CONTEXT.map(lambda fields: {name: fields[name] for name in PODS if name in fields}),
    "containers": CONTAINER.map(lambda fields: [{"name": "driver", **fields}]),
    "initContainers": CONTAINER.map(lambda fields: [{"name": "engine", **fields}]),
    "volumes": some.lists(some.sampled_from(VOLUMES), unique_by=lambda each: each["name"], max_size=2),
}
PATCH = some.fixed_dictionaries(
    FIELDS, optional={name: some.booleans() for name in ("hostPID", "hostIPC", "hostUsers")}
)


@pytest.mark.full
@given(patch=PATCH)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_generated_pod_is_admitted_exactly_if_no_breach_is_reported(admission: Admission, patch: Json) -> None:
    pod = with_template(patch)
    for level in LEVELS:
        admitted = admission.admits(level, pod)
        assume(admitted is not None)
        assert admitted is not bool(breaches(level, pod["metadata"], pod["spec"])), json.dumps(patch)
