"""Whom a real ReplicaSet controller takes away first is whom we assume: made-up fleets, each made smaller."""

import json
import random
from typing import Any

import pytest
from kubernetes import config

from penstock_operator.plan.fleet import FIRST_TO_GO, WorkerPod, read_pod
from tests.operator.plan.fleet.test_shrinking import controllers_key
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.waiting import eventually

pytestmark = pytest.mark.xdist_group("a control plane with a controller of ReplicaSets")

Json = dict[str, Any]
FLEETS, WORKERS = 12, 6
SEED = 7
SECONDS = 120
POD: Json = {"containers": [{"name": "c", "image": "example/none"}], "terminationGracePeriodSeconds": 600}
SETS, PODS = "/apis/apps/v1/namespaces/default/replicasets", "/api/v1/namespaces/default/pods"
STATES = [
    {"node": "", "phase": "Pending", "ready": False},
    {"node": "n", "phase": "Pending", "ready": False},
    {"node": "n", "phase": "Running", "ready": False},
    {"node": "m", "phase": "Running", "ready": False},
    {"node": "n", "phase": "Running", "ready": True},
    {"node": "m", "phase": "Running", "ready": True},
    {"node": "m", "phase": "Running", "ready": True},
]


class Api:
    """The API server, asked without a program in between."""

    def __init__(self, plane: ControlPlane) -> None:
        self._client: Any = config.new_client_from_config(str(plane.kubeconfig))  # type: ignore[no-untyped-call]

    def get(self, path: str, **query: str) -> Json:
        return self._asked("GET", path, None, "", query)

    def post(self, path: str, body: Json) -> Json:
        return self._asked("POST", path, body, "application/json", {})

    def patch(self, path: str, body: Json) -> Json:
        return self._asked("PATCH", path, body, "application/merge-patch+json", {})

    def _asked(self, method: str, path: str, body: Json | None, content: str, query: dict[str, str]) -> Json:
        headers = {"Content-Type": content} if content else {}
        request = self._client.param_serialize(
            method, path, query_params=list(query.items()), header_params=headers, body=body
        )
        answer: Json = json.loads(self._client.call_api(*request).read())
        assert answer.get("kind") != "Status" or answer.get("status") == "Success", answer
        return answer


@pytest.fixture
def api(own_control_plane: ControlPlane) -> Api:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    own_control_plane.kubectl("create", "--filename=-", stdin=json.dumps(account))
    own_control_plane.start_controllers("replicaset-controller")
    return Api(own_control_plane)


def pods_of(api: Api, fleet: str) -> dict[str, WorkerPod]:
    items = api.get(PODS, labelSelector=f"fleet={fleet}")["items"]
    return {item["metadata"]["name"]: read_pod(item) for item in items}


def give(api: Api, pod: str, state: Json, cost: int) -> None:
    """Have a pod be as a kubelet would have it, and somebody who marks it."""
    if state["node"]:
        target = {"apiVersion": "v1", "kind": "Node", "name": state["node"]}
        api.post(
            f"{PODS}/{pod}/binding",
            {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target},
        )
    if cost:
        marks = {"controller.kubernetes.io/pod-deletion-cost": str(cost)}
        api.patch(f"{PODS}/{pod}", {"metadata": {"annotations": marks}})
    ready = {"type": "Ready", "status": str(state["ready"]), "lastTransitionTime": "2026-01-01T00:00:00Z"}
    api.patch(f"{PODS}/{pod}/status", {"status": {"phase": state["phase"], "conditions": [ready]}})


def ready_in_status(api: Api, fleet: str) -> int:
    """Return how many the controller has seen ready."""
    return int(api.get(f"{SETS}/{fleet}")["status"].get("readyReplicas", 0))


def there(api: Api, fleet: str) -> set[str]:
    return {name for name, each in pods_of(api, fleet).items() if each.is_there}


def made(api: Api, fleet: str, chance: random.Random) -> dict[str, WorkerPod]:
    """Return a fleet's pods once they are in all kinds of states, and the controller has seen that."""
    eventually(lambda: len(pods_of(api, fleet)) == WORKERS, f"{fleet} has its pods", SECONDS)
    *others, last = sorted(pods_of(api, fleet))
    for pod in others:
        give(api, pod, chance.choice(STATES), chance.choice([0, 5, -5, FIRST_TO_GO]))
    give(api, last, STATES[-1], 100)  # whoever has seen that this one is ready has seen all the others
    pods = pods_of(api, fleet)
    ready = sum(each.is_ready for each in pods.values())
    eventually(lambda: ready_in_status(api, fleet) == ready, f"the controller has seen {fleet}", SECONDS)
    return pods


def test_a_replica_set_takes_those_first_that_we_say(api: Api) -> None:
    chance = random.Random(SEED)  # noqa: S311 - made-up fleets
    fleets = [f"fleet-{number}" for number in range(FLEETS)]
    for fleet in fleets:
        labels = {"fleet": fleet}
        template = {"metadata": {"labels": labels}, "spec": POD}
        spec = {"replicas": WORKERS, "selector": {"matchLabels": labels}, "template": template}
        api.post(SETS, {"metadata": {"name": fleet}, "spec": spec})
    for fleet in fleets:
        pods, stay = made(api, fleet, chance), chance.randint(1, WORKERS - 1)
        api.patch(f"{SETS}/{fleet}", {"spec": {"replicas": stay}})
        eventually(lambda fleet=fleet, stay=stay: len(there(api, fleet)) == stay, f"{fleet} is smaller", SECONDS)  # type: ignore[misc]
        kept = there(api, fleet)
        keys = {name: controllers_key(each) for name, each in pods.items()}
        assert max(keys[name] for name in keys.keys() - kept) <= min(keys[name] for name in kept), fleet
