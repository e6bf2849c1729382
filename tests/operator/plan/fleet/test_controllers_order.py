"""A real ReplicaSet controller deletes pods in the order that the operator assumes."""

import random
from typing import Any

import pytest

from penstock_operator.plan.fleet import FIRST_TO_GO, WorkerPod, read_pod
from tests.operator.plan.fleet.test_shrinking import controllers_key
from tests.testbed.kubernetes.client import Client
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.waiting import eventually

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("a control plane with a controller of ReplicaSets")]

Json = dict[str, Any]
FLEETS, WORKERS = 12, 6
SEED = 7
SECONDS = 120
POD: Json = {"containers": [{"name": "c", "image": "example/none"}], "terminationGracePeriodSeconds": 600}
STATES = [
    {"node": "", "phase": "Pending", "ready": False},
    {"node": "n", "phase": "Pending", "ready": False},
    {"node": "n", "phase": "Running", "ready": False},
    {"node": "m", "phase": "Running", "ready": False},
    {"node": "n", "phase": "Running", "ready": True},
    {"node": "m", "phase": "Running", "ready": True},
    {"node": "m", "phase": "Running", "ready": True},
]


@pytest.fixture
def client(own_control_plane: ControlPlane) -> Client:
    own_control_plane.client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
    own_control_plane.start_controllers("replicaset-controller")
    return own_control_plane.client


def pods_of(client: Client, fleet: str) -> dict[str, WorkerPod]:
    return {item["metadata"]["name"]: read_pod(item) for item in client.list("pods", selector=f"fleet={fleet}")}


def give(client: Client, pod: str, state: Json, cost: int) -> None:
    """Give a pod the state and the deletion cost that a kubelet and the operator would give it."""
    if state["node"]:
        target = {"apiVersion": "v1", "kind": "Node", "name": state["node"]}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
        client.request("POST", f"/api/v1/namespaces/default/pods/{pod}/binding", binding)
    if cost:
        client.annotate(f"pod/{pod}", {"controller.kubernetes.io/pod-deletion-cost": str(cost)})
    ready = {"type": "Ready", "status": str(state["ready"]), "lastTransitionTime": "2026-01-01T00:00:00Z"}
    client.patch(f"pod/{pod}", {"status": {"phase": state["phase"], "conditions": [ready]}}, subresource="status")


def there(client: Client, fleet: str) -> set[str]:
    return {name for name, each in pods_of(client, fleet).items() if each.is_there}


def made(client: Client, fleet: str, chance: random.Random) -> dict[str, WorkerPod]:
    """Return a fleet's pods once they have all kinds of states, and the controller has seen that."""
    eventually(lambda: len(pods_of(client, fleet)) == WORKERS, f"{fleet} has its pods", SECONDS)
    *others, last = sorted(pods_of(client, fleet))
    for pod in others:
        give(client, pod, chance.choice(STATES), chance.choice([0, 5, -5, FIRST_TO_GO]))
    give(client, last, STATES[-1], 100)  # a controller that has seen this one ready has seen all the others
    pods = pods_of(client, fleet)
    ready = sum(each.is_ready for each in pods.values())

    def is_seen() -> bool:
        return int(client.get(f"replicaset/{fleet}")["status"].get("readyReplicas", 0)) == ready

    eventually(is_seen, f"the controller has seen {fleet}", SECONDS)
    return pods


def test_replica_set_deletes_first_what_the_operator_expects(client: Client) -> None:
    chance = random.Random(SEED)  # noqa: S311 - made-up fleets
    fleets = [f"fleet-{number}" for number in range(FLEETS)]
    for fleet in fleets:
        labels = {"fleet": fleet}
        template = {"metadata": {"labels": labels}, "spec": POD}
        spec = {"replicas": WORKERS, "selector": {"matchLabels": labels}, "template": template}
        client.create({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": fleet}, "spec": spec})
    for fleet in fleets:
        pods, stay = made(client, fleet, chance), chance.randint(1, WORKERS - 1)
        client.patch(f"replicaset/{fleet}", {"spec": {"replicas": stay}})
        eventually(lambda fleet=fleet, stay=stay: len(there(client, fleet)) == stay, f"{fleet} is smaller", SECONDS)  # type: ignore[misc]
        kept = there(client, fleet)
        keys = {name: controllers_key(each) for name, each in pods.items()}
        assert max(keys[name] for name in keys.keys() - kept) <= min(keys[name] for name in kept), fleet
