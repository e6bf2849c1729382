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
LEVELS = (BASELINE, RESTRICTED)
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
TABLE: dict[str, tuple[Json, tuple[PodSecurity, ...], str]] = {
    "nothing": ({}, (), ""),
    "a network of the node": ({"hostNetwork": True}, LEVELS, "hostNetwork must not be true"),
    "processes of the node": ({"hostPID": True}, LEVELS, "hostPID must not be true"),
    "memory of the node": ({"hostIPC": True}, LEVELS, "hostIPC must not be true"),
    "none of the node": ({"hostNetwork": False}, (), ""),
    "privileged": (
        context(privileged=True, allowPrivilegeEscalation=None),
        LEVELS,
        "containers[driver].securityContext.privileged must not be true",
    ),
    "a privileged sidecar": (
        engine(securityContext={"privileged": True, "allowPrivilegeEscalation": True}),
        LEVELS,
        "initContainers[engine].securityContext.privileged must not be true",
    ),
    "a capability": (context(capabilities={"add": ["NET_ADMIN"]}), LEVELS, "must not have NET_ADMIN"),
    "a capability that containers have by default": (
        context(capabilities={"add": ["CHOWN"]}),
        (RESTRICTED,),
        "must not have CHOWN",
    ),
    "a capability for low ports": (context(capabilities={"add": ["NET_BIND_SERVICE"]}), (), ""),
    "capabilities kept": (context(capabilities={"drop": ["KILL"]}), (RESTRICTED,), "capabilities.drop must have ALL"),
    "no word of capabilities": (context(capabilities=None), (RESTRICTED,), "capabilities.drop must have ALL"),
    "a folder of the node": (volume(hostPath={"path": "/"}), LEVELS, "volumes[more] must not be of the type hostPath"),
    "a share": (volume(nfs={"server": "a", "path": "/"}), (RESTRICTED,), "volumes[more] must not be of the type nfs"),
    "a block device": (
        volume(iscsi={"targetPortal": "a:1", "iqn": "iqn.2001-04.a:b", "lun": 0}),
        (RESTRICTED,),
        "iscsi",
    ),
    **{f"a volume of the type {name}": (volume(**{name: source}), (), "") for name, source in FINE_VOLUMES.items()},
    "a port of the node": (driver(ports=[{"containerPort": 9, "hostPort": 9}]), LEVELS, "must not have hostPort 9"),
    "a port": (driver(ports=[{"containerPort": 9}]), (), ""),
    "a probe of the node": (
        driver(livenessProbe=ASKING),
        LEVELS,
        "containers[driver].livenessProbe.httpGet must not have a host, as 127.0.0.1",
    ),
    "a hook at the node": (
        driver(lifecycle={"preStop": {"httpGet": {"port": 1, "host": "a"}}}),
        LEVELS,
        "lifecycle.preStop.httpGet must not have a host",
    ),
    "AppArmor off": (context(appArmorProfile={"type": "Unconfined"}), LEVELS, "appArmorProfile.type must be"),
    "AppArmor off for all": (pods(appArmorProfile={"type": "Unconfined"}), LEVELS, "appArmorProfile.type must be"),
    "a profile of AppArmor": (pods(appArmorProfile={"type": "Localhost", "localhostProfile": "a"}), (), ""),
    "seccomp off": (context(seccompProfile={"type": "Unconfined"}), LEVELS, "seccompProfile.type must be"),
    "seccomp off for all": (pods(seccompProfile={"type": "Unconfined"}), LEVELS, "seccompProfile.type must be"),
    "no word of seccomp": (pods(seccompProfile=None), (RESTRICTED,), "seccompProfile must be set"),
    "a profile of seccomp": (
        pods(seccompProfile={"$patch": "replace", "type": "Localhost", "localhostProfile": "a"}),
        (),
        "",
    ),
    "a user of SELinux": (pods(seLinuxOptions={"user": "a"}), LEVELS, "seLinuxOptions.user must not be set"),
    "a role of SELinux": (context(seLinuxOptions={"role": "a"}), LEVELS, "seLinuxOptions.role must not be set"),
    "a type of SELinux": (context(seLinuxOptions={"type": "spc_t"}), LEVELS, "type must not be spc_t"),
    "a level of SELinux": (pods(seLinuxOptions={"level": "s0", "type": "container_t"}), (), ""),
    "a bare /proc": ({**context(procMount="Unmasked"), "hostUsers": False}, LEVELS, "procMount must not be Unmasked"),
    "a setting of the kernel": (
        pods(sysctls=[{"name": "kernel.msgmax", "value": "1"}]),
        LEVELS,
        "sysctls must not have kernel.msgmax",
    ),
    "a setting of the pod's own": (pods(sysctls=[{"name": "net.ipv4.tcp_rmem", "value": "1"}]), (), ""),
    "escalation": (context(allowPrivilegeEscalation=True), (RESTRICTED,), "allowPrivilegeEscalation must be false"),
    "no word of escalation": (context(allowPrivilegeEscalation=None), (RESTRICTED,), "must be false"),
    "root": (pods(runAsUser=0), (RESTRICTED,), "runAsUser must not be 0"),
    "root in one container": (context(runAsUser=0), (RESTRICTED,), "runAsUser must not be 0"),
    "root allowed": (pods(runAsNonRoot=False), (RESTRICTED,), "runAsNonRoot must not be false"),
    "root allowed in one container": (context(runAsNonRoot=False), (RESTRICTED,), "runAsNonRoot must be true"),
    "no word of root": (pods(runAsNonRoot=None), (RESTRICTED,), "runAsNonRoot must be true"),
    "no word of root but in each container": (
        {
            **pods(runAsNonRoot=None, runAsUser=None),
            **context(runAsNonRoot=True),
            **engine(securityContext={"runAsNonRoot": True}),
        },
        (),
        "",
    ),
    "no user": (pods(runAsUser=None, runAsGroup=None, fsGroup=None), (), ""),
    "a writable root": (context(readOnlyRootFilesystem=False), (), ""),
    "a container more": ({"containers": [SIDECAR]}, (RESTRICTED,), "containers[proxy]"),
    "a container more that asks for little": (
        {"containers": [{**SIDECAR, "securityContext": POD["spec"]["containers"][0]["securityContext"]}]},
        (),
        "",
    ),
}


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
    for name, (patch, beyond, said) in TABLE.items():
        with subtests.test(name):
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
PATCH = some.builds(
    lambda pod, first, second, volumes, host: {
        "securityContext": {name: value for name, value in pod.items() if name in PODS},
        "containers": [{"name": "driver", **first}],
        "initContainers": [{"name": "engine", **second}],
        "volumes": volumes,
        **host,
    },
    CONTEXT,
    CONTAINER,
    CONTAINER,
    some.lists(
        some.sampled_from(
            [
                {"name": "a", "hostPath": {"path": "/"}},
                {"name": "b", "nfs": {"server": "a", "path": "/"}},
                {"name": "c", "emptyDir": {}},
            ]
        ),
        unique_by=lambda each: each["name"],
        max_size=2,
    ),
    some.fixed_dictionaries({}, optional={name: some.booleans() for name in ("hostPID", "hostIPC", "hostUsers")}),
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
