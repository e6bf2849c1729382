"""A template is merged as a real API server merges the same strategic patch into the same pod template."""

import copy
import uuid
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from penstock_operator.plan.workload.merging import UnmergeableError, merged
from tests.operator.plan.workload.workloads import group, made
from tests.testbed.kubernetes.access import Access
from tests.testbed.kubernetes.client import RefusedError

Json = dict[str, Any]
NAMESPACE = "default"
EXAMPLES = 300
REFUSALS = {400, 422, 500}
"""The API server answers with 500 to a patch that it cannot merge."""
BASE: Json = {
    **made(group()).deployment["spec"]["template"]["spec"],
    "tolerations": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}],
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}, {"ip": "10.0.0.2", "hostnames": ["b"]}],
    "imagePullSecrets": [{"name": "one"}, {"name": "two"}],
    "nodeSelector": {"disk": "fast", "zone": "a"},
}
PATCHES: dict[str, Json] = yaml.safe_load("""
nothing: {}
another field: {priorityClassName: high, hostname: a}
a removed field: {nodeSelector: {disk: null}, securityContext: {runAsUser: null, fsGroup: 7}}
a removed mapping: {nodeSelector: null}
removed fields that do not exist: {priorityClassName: null, affinity: {nodeAffinity: null}}
another container: {containers: [{name: more, image: more}]}
more containers, and one changed between them:
  containers: [{name: a, image: a}, {name: driver, tty: true}, {name: b, image: b}]
a removed container: {initContainers: [{name: engine, $patch: delete}, {name: other, image: o}]}
all containers replaced: {containers: [{$patch: replace}, {name: only, image: only}]}
another environment variable, one changed and one removed:
  containers:
  - name: driver
    env: [{name: NEW, value: "1"}, {name: PENSTOCK_IMAGE, value: other}, {name: PENSTOCK_GROUP, $patch: delete}]
another mount, and one changed:
  containers:
  - {name: driver, volumeMounts: [{mountPath: /job/lake, name: lake}, {mountPath: /job, subPath: x}]}
  volumes: [{name: lake, persistentVolumeClaim: {claimName: lake}}]
ports: {initContainers: [{name: engine, ports: [{containerPort: 8081, hostPort: 1}, {containerPort: 9}]}]}
resources: {containers: [{name: driver, resources: {limits: {memory: 4Gi}, requests: null}}]}
a replaced security context: {securityContext: {$patch: replace, runAsUser: 5}}
an emptied security context: {securityContext: {$patch: delete}}
a directive for a missing field: {affinity: {$patch: replace, nodeAffinity: {}}, hostname: a}
tolerations are one value: {tolerations: [{key: c, operator: Exists}]}
capabilities are one value: {containers: [{name: driver, securityContext: {capabilities: {drop: [CHOWN]}}}]}
host aliases by address: {hostAliases: [{ip: 10.0.0.3, hostnames: [c]}, {ip: 10.0.0.1, hostnames: [d]}]}
pull secrets by name: {imagePullSecrets: [{name: three}, {name: two, $patch: delete}]}
spreading by topology:
  topologySpreadConstraints:
  - {topologyKey: kubernetes.io/hostname, maxSkew: 3, whenUnsatisfiable: DoNotSchedule}
  - {topologyKey: zone, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}
another order:
  volumes:
  - {name: penstock-work, emptyDir: {sizeLimit: 1Gi}}
  - {name: penstock-settings}
  - {name: new, emptyDir: {}}
an item twice: {volumes: [{name: new, emptyDir: {}}, {name: new, emptyDir: {medium: Memory}}]}
an item without its key: {volumes: [{emptyDir: {}}]}
a directive without the key: {volumes: [{$patch: delete}]}
an unknown directive: {securityContext: {$patch: forget}}
an unknown directive for items: {volumes: [{name: a, $patch: merge}]}
another kind of probe: {containers: [{name: driver, livenessProbe: {httpGet: null, exec: {command: [a]}}}]}
""")


class Server:
    """An API server that merges patches into one Deployment in dry runs."""

    def __init__(self, plane: Access) -> None:
        self._client = plane.client
        self._name = f"merged-{uuid.uuid4().hex[:10]}"
        self.base = self._client.create(self._whole(BASE))["spec"]["template"]["spec"]
        """With the defaults that the API server adds."""

    def merges(self, patch: Json) -> Json | None:
        """Return the merged pod spec; None if the API server refuses."""
        return self._ask("PATCH", {"spec": {"template": {"spec": patch}}}, "application/strategic-merge-patch+json")

    def takes(self, spec: Json) -> Json | None:
        """Return a whole pod spec with its defaults; None if the API server refuses."""
        return self._ask("PUT", self._whole(spec), "application/json")

    def _whole(self, spec: Json) -> Json:
        labels = {"app": self._name}
        template = {"metadata": {"labels": labels}, "spec": spec}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": self._name, "namespace": NAMESPACE},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
        }

    def _ask(self, method: str, body: Json, content_type: str) -> Json | None:
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{self._name}"
        try:
            answer = self._client.request(method, path, body, content_type=content_type, query={"dryRun": "All"})
        except RefusedError as refusal:
            if refusal.status not in REFUSALS:
                raise
            return None
        return dict(answer["spec"]["template"]["spec"])


@pytest.fixture(scope="module")
def server(control_plane: Access) -> Server:
    return Server(control_plane)


def assert_agreed(server: Server, patch: Json) -> None:
    before = copy.deepcopy((server.base, patch))
    try:
        ours = server.takes(merged(server.base, patch))
    except UnmergeableError:
        ours = None
    assert before == (server.base, patch), "merging changes neither"
    assert ours == server.merges(patch)


def test_patch_is_merged_as_the_api_server_does(server: Server, subtests: pytest.Subtests) -> None:
    for name, patch in PATCHES.items():
        with subtests.test(name):
            assert_agreed(server, patch)


def test_directives_that_only_programs_write_are_refused_with_their_path() -> None:
    patches: tuple[Json, ...] = (
        {"$setElementOrder/containers": [{"name": "driver"}]},
        {"$deleteFromPrimitiveList/finalizers": ["a"]},
        {"volumes": [{"name": "penstock-work", "$retainKeys": ["name"]}]},
        {"containers": [{"name": "new", "image": "a", "lifecycle": {"$retainKeys": []}}]},
    )
    for patch in patches:
        with pytest.raises(UnmergeableError, match=r"spec\.template\.spec\..*\$.*: of a patch's directives"):
            merged(BASE, patch)


def fields(**strategies: some.SearchStrategy[Any]) -> some.SearchStrategy[Json]:
    """Generate a mapping with any of these fields, each of which may be null."""
    return some.fixed_dictionaries({}, optional={name: some.none() | each for name, each in strategies.items()})


def directed(strategy: some.SearchStrategy[Json]) -> some.SearchStrategy[Json]:
    """Generate a mapping that may say how it is merged."""
    directive = some.sampled_from(["replace", "delete"] * 4 + ["merge"])
    told = some.builds(lambda mapping, word: {**mapping, "$patch": word}, strategy, directive)
    return some.one_of(*[strategy] * 9, told)


def items(key: str, names: list[Any], **strategies: some.SearchStrategy[Any]) -> some.SearchStrategy[list[Json]]:
    """Generate a list whose items have a key, which one of them may lack."""
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
GENERATED = fields(
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


@pytest.mark.full
@given(patch=GENERATED)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_generated_patches_are_merged_as_the_api_server_does(server: Server, patch: Json) -> None:
    assert_agreed(server, patch)
