"""A template is merged as a real API server merges the same strategic patch into the same pod template."""

import contextlib
import copy
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from kubernetes import config
from kubernetes.client import ApiClient, ApiException, CustomObjectsApi

from penstock_operator.plan.workload.merging import UnmergeableError, merged
from tests.operator.plan.workload.workloads import group, made
from tests.testbed.kubernetes.access import Access

Json = dict[str, Any]
NAMESPACE = "default"
EXAMPLES = 300
REFUSALS = {400, 422, 500}
"""The API server answers with 500 to a patch that it cannot merge."""
GROUND: Json = {
    **made(group()).deployment["spec"]["template"]["spec"],
    "tolerations": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}],
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}, {"ip": "10.0.0.2", "hostnames": ["b"]}],
    "imagePullSecrets": [{"name": "one"}, {"name": "two"}],
    "nodeSelector": {"disk": "fast", "zone": "a"},
}
DRIVER = "driver"
PATCHES: dict[str, Json] = {
    "nothing": {},
    "a field more": {"priorityClassName": "high", "hostname": "a"},
    "a field less": {"nodeSelector": {"disk": None}, "securityContext": {"runAsUser": None, "fsGroup": 7}},
    "a mapping less": {"nodeSelector": None},
    "what is not there taken away": {"priorityClassName": None, "affinity": {"nodeAffinity": None}},
    "a container more": {"containers": [{"name": "more", "image": "more"}]},
    "containers more, and one changed between them": {
        "containers": [{"name": "a", "image": "a"}, {"name": DRIVER, "tty": True}, {"name": "b", "image": "b"}]
    },
    "a container taken away": {
        "initContainers": [{"name": "engine", "$patch": "delete"}, {"name": "other", "image": "o"}]
    },
    "all containers replaced": {"containers": [{"$patch": "replace"}, {"name": "only", "image": "only"}]},
    "an environment variable more, one changed and one taken away": {
        "containers": [
            {
                "name": DRIVER,
                "env": [
                    {"name": "NEW", "value": "1"},
                    {"name": "PENSTOCK_IMAGE", "value": "other"},
                    {"name": "PENSTOCK_GROUP", "$patch": "delete"},
                ],
            }
        ]
    },
    "a mount more, and one changed": {
        "containers": [
            {
                "name": DRIVER,
                "volumeMounts": [{"mountPath": "/job/lake", "name": "lake"}, {"mountPath": "/job", "subPath": "x"}],
            }
        ],
        "volumes": [{"name": "lake", "persistentVolumeClaim": {"claimName": "lake"}}],
    },
    "ports": {
        "initContainers": [{"name": "engine", "ports": [{"containerPort": 8081, "hostPort": 1}, {"containerPort": 9}]}]
    },
    "resources": {"containers": [{"name": DRIVER, "resources": {"limits": {"memory": "4Gi"}, "requests": None}}]},
    "a security context replaced": {"securityContext": {"$patch": "replace", "runAsUser": 5}},
    "a security context emptied": {"securityContext": {"$patch": "delete"}},
    "a directive for what is not there": {"affinity": {"$patch": "replace", "nodeAffinity": {}}, "hostname": "a"},
    "tolerations are one value": {"tolerations": [{"key": "c", "operator": "Exists"}]},
    "capabilities are one value": {
        "containers": [{"name": DRIVER, "securityContext": {"capabilities": {"drop": ["CHOWN"]}}}]
    },
    "host aliases by address": {
        "hostAliases": [{"ip": "10.0.0.3", "hostnames": ["c"]}, {"ip": "10.0.0.1", "hostnames": ["d"]}]
    },
    "pull secrets by name": {"imagePullSecrets": [{"name": "three"}, {"name": "two", "$patch": "delete"}]},
    "spreading by topology": {
        "topologySpreadConstraints": [
            {"topologyKey": "kubernetes.io/hostname", "maxSkew": 3, "whenUnsatisfiable": "DoNotSchedule"},
            {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"},
        ]
    },
    "an order turned round": {
        "volumes": [
            {"name": "penstock-work", "emptyDir": {"sizeLimit": "1Gi"}},
            {"name": "penstock-settings"},
            {"name": "new", "emptyDir": {}},
        ]
    },
    "an item twice": {"volumes": [{"name": "new", "emptyDir": {}}, {"name": "new", "emptyDir": {"medium": "Memory"}}]},
    "an item without its key": {"volumes": [{"emptyDir": {}}]},
    "a directive without the key": {"volumes": [{"$patch": "delete"}]},
    "a word that is no directive": {"securityContext": {"$patch": "forget"}},
    "a word that is no directive for items": {"volumes": [{"name": "a", "$patch": "merge"}]},
    "a program for a probe": {
        "containers": [{"name": DRIVER, "livenessProbe": {"httpGet": None, "exec": {"command": ["a"]}}}]
    },
}
each_patch = pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)


class Server:
    """An API server that merges patches into one Deployment, for show."""

    def __init__(self, plane: Access) -> None:
        client: ApiClient = config.new_client_from_config(str(plane.kubeconfig))  # type: ignore[no-untyped-call]
        self._objects = CustomObjectsApi(client)  # which sends what it is given as it is, whatever the kind
        self._name = f"merged-{uuid.uuid4().hex[:10]}"
        kept = self._asked(self._objects.create_namespaced_custom_object, [], self._whole(GROUND))
        assert kept is not None
        self.ground = kept
        """With all that the API server adds to it."""

    def merges(self, patch: Json) -> Json | None:
        """Return what becomes of the ground; None if the API server refuses."""
        body = {"spec": {"template": {"spec": patch}}}
        how = {"_content_type": "application/strategic-merge-patch+json", "dry_run": "All"}
        return self._asked(self._objects.patch_namespaced_custom_object, [self._name], body, **how)

    def takes(self, spec: Json) -> Json | None:
        """Return what it makes of a pod's spec that it is given as a whole; None if it refuses."""
        replace = self._objects.replace_namespaced_custom_object
        return self._asked(replace, [self._name], self._whole(spec), dry_run="All")

    def _whole(self, spec: Json) -> Json:
        labels = {"app": self._name}
        template = {"metadata": {"labels": labels}, "spec": spec}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": self._name, "namespace": NAMESPACE},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
        }

    def _asked(self, request: Any, names: list[str], body: Json, **how: str) -> Json | None:  # noqa: ANN401 - a method of the client
        try:
            answer = request("apps", "v1", NAMESPACE, "deployments", *names, body, **how)
        except ApiException as refusal:
            if refusal.status not in REFUSALS:
                raise
            return None
        spec: Json = answer["spec"]["template"]["spec"]
        return spec


@pytest.fixture(scope="module")
def server(control_plane: Access) -> Server:
    return Server(control_plane)


def assert_agreed(server: Server, patch: Json) -> None:
    try:
        ours = server.takes(merged(server.ground, patch))
    except UnmergeableError:
        ours = None
    assert ours == server.merges(patch)


@each_patch
def test_a_patch_is_merged_as_the_api_server_does_it(server: Server, patch: Json) -> None:
    assert_agreed(server, patch)


@each_patch
def test_neither_the_ground_nor_the_patch_is_changed(patch: Json) -> None:
    before = copy.deepcopy((GROUND, patch))
    with contextlib.suppress(UnmergeableError):
        merged(GROUND, patch)
    assert before == (GROUND, patch)


@pytest.mark.parametrize(
    "patch",
    [
        {"$setElementOrder/containers": [{"name": "driver"}]},
        {"$deleteFromPrimitiveList/finalizers": ["a"]},
        {"volumes": [{"name": "penstock-work", "$retainKeys": ["name"]}]},
        {"containers": [{"name": "new", "image": "a", "lifecycle": {"$retainKeys": []}}]},
    ],
)
def test_what_only_programs_write_is_refused_with_its_place(patch: Json) -> None:
    with pytest.raises(UnmergeableError, match=r"spec\.template\.spec\..*\$.*: of a patch's directives"):
        merged(GROUND, patch)


def fields(**strategies: some.SearchStrategy[Any]) -> some.SearchStrategy[Json]:
    """Make up a mapping with any of these fields, each of which may be null."""
    return some.fixed_dictionaries({}, optional={name: some.none() | each for name, each in strategies.items()})


def directed(strategy: some.SearchStrategy[Json]) -> some.SearchStrategy[Json]:
    """Make up a mapping that may say how it is merged."""
    directive = some.sampled_from(["replace", "delete"] * 4 + ["merge"])
    told = some.builds(lambda mapping, word: {**mapping, "$patch": word}, strategy, directive)
    return some.one_of(*[strategy] * 9, told)


def items(key: str, names: list[Any], **strategies: some.SearchStrategy[Any]) -> some.SearchStrategy[list[Json]]:
    """Make up a list whose items are known by a key, which one of them may lack."""
    named = directed(
        some.builds(lambda name, rest: {key: name, **rest}, some.sampled_from(names), fields(**strategies))
    )
    nameless = some.lists(directed(fields(**strategies)), max_size=2)
    return some.one_of(*[some.lists(named, max_size=4)] * 9, nameless)


WORDS = some.sampled_from(["a", "b"])
SECURITY = directed(
    fields(
        runAsUser=some.integers(1, 3),
        runAsNonRoot=some.booleans(),
        capabilities=directed(fields(drop=some.lists(WORDS, max_size=2), add=some.lists(WORDS, max_size=2))),
    )
)
IN_CONTAINERS: dict[str, Any] = {
    "image": some.just("image"),
    "args": some.lists(WORDS, max_size=2),
    "env": items("name", ["PENSTOCK_IMAGE", "PENSTOCK_POD_IP", "X", "Y"], value=WORDS),
    "ports": items("containerPort", [8081, 9, 10], name=some.sampled_from(["p", "q"]), hostPort=some.integers(1, 3)),
    "volumeMounts": items(
        "mountPath",
        ["/job", "/run/penstock", "/x"],
        name=some.sampled_from(["penstock-work", "penstock-socket"]),
        readOnly=some.booleans(),
    ),
    "securityContext": SECURITY,
    "resources": directed(fields(limits=directed(fields(cpu=some.sampled_from(["1", "500m"]))))),
    "readinessProbe": directed(
        fields(periodSeconds=some.integers(1, 3), exec=fields(command=some.lists(WORDS, max_size=1)))
    ),
}
LABELS = some.sampled_from(["disk", "zone", "new"])
MADE_UP = fields(
    containers=items("name", ["driver", "x", "y"], **IN_CONTAINERS),
    initContainers=items("name", ["engine", "z"], **IN_CONTAINERS),
    volumes=items(
        "name",
        ["penstock-work", "penstock-code", "v", "w"],
        emptyDir=directed(fields(medium=some.sampled_from(["", "Memory"]))),
    ),
    tolerations=some.lists(fields(key=WORDS, operator=some.just("Exists")), max_size=2),
    hostAliases=items("ip", ["10.0.0.1", "10.0.0.2", "10.0.0.3"], hostnames=some.lists(WORDS, max_size=2)),
    imagePullSecrets=items("name", ["one", "two", "three"]),
    topologySpreadConstraints=items(
        "topologyKey",
        ["kubernetes.io/hostname", "zone"],
        maxSkew=some.integers(1, 3),
        whenUnsatisfiable=some.sampled_from(["ScheduleAnyway", "DoNotSchedule"]),
    ),
    nodeSelector=some.dictionaries(LABELS, some.none() | WORDS) | directed(some.dictionaries(LABELS, WORDS)),
    securityContext=SECURITY,
    affinity=directed(fields(nodeAffinity=directed(fields()))),
    priorityClassName=WORDS,
    terminationGracePeriodSeconds=some.integers(0, 9),
)


@given(patch=MADE_UP)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_patch_is_made_up_is_merged_as_the_api_server_does_it(server: Server, patch: Json) -> None:
    assert_agreed(server, patch)
