"""Pods of real failures, and pods that tests make up."""

import json
from pathlib import Path
from typing import Any

from penstock_operator.plan.fleet import WorkerPod, read_pod
from penstock_operator.plan.fleet.pods import Container

Json = dict[str, Any]
HERE = Path(__file__).parent
PODS = {file.stem: file for file in sorted((HERE / "pods").glob("*.json"))}
DEPLOYMENTS = {file.stem: file for file in sorted((HERE / "deployments").glob("*.json"))}
NEW, OLD = "new", "old"
RUNS = (Container(name="engine", image="e", is_running=True, is_ready=True),)


def real_pod(name: str) -> WorkerPod:
    return read_pod(json.loads(PODS[name].read_text()))


def real_deployment(name: str) -> Json:
    found: Json = json.loads(DEPLOYMENTS[name].read_text())
    return found


def pod(name: str, **about: Any) -> WorkerPod:  # noqa: ANN401 - any field
    """Return a pod that works, but for what is said about it."""
    works: Json = {"revision": NEW, "phase": "Running", "node": "n", "is_ready": True, "containers": RUNS}
    return WorkerPod(**{"name": name, "created": name, **works, **about})


def pending(name: str, **about: Any) -> WorkerPod:  # noqa: ANN401 - any field
    """Return a pod that has only just been created."""
    return pod(name, **{"phase": "Pending", "node": "", "is_ready": False, "containers": (), **about})


def says(*, held: int = 0, ready: bool = True, retiring: bool = False, **more: object) -> Json:
    """Return what a worker reports of itself."""
    state: Json = {"ready": ready, "sentence": "Ready.", "why": "", "holds": ["retiring"] if retiring else []}
    return state | {"heldMessages": held, "batches": [{"id": "b"}] if held else []} | more
