"""The workers of each group as plans understand them, read from what watches have shown.

Knows that an object which has not changed need not be read again. Does not know what follows from any of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock_operator.plan.declared import Identity
from penstock_operator.plan.fleet import WorkerPod, read_pod
from penstock_operator.plan.workload.naming import label_of
from penstock_operator.services.workforce.fleets import Fleets, Label


class Roster:
    def __init__(self, fleets: Fleets) -> None:
        self._fleets = fleets
        self._read: dict[Label, dict[str, tuple[str, WorkerPod]]] = {}
        """By the pod's uid: the version that was read, and what it said."""

    @property
    def trouble(self) -> str:
        """Why it cannot be known who is there; nothing while it is."""
        return self._fleets.trouble

    def pods(self, label: Label) -> Sequence[WorkerPod]:
        """Return all pods of a group that are there, those that end among them."""
        known, pods = self._read.get(label, {}), self._fleets.fleet(label).pods
        if not pods:
            self._read.pop(label, None)
            return ()
        now = {pod["metadata"]["uid"]: _read(pod, known.get(pod["metadata"]["uid"])) for pod in pods}
        self._read[label] = now
        return [pod for _, pod in now.values()]

    def asked(self, group: Identity) -> int | None:
        """Return how many workers the group's Deployment is to have; None if it has none."""
        deployment = self._fleets.fleet(label(group)).deployment(group.name)
        return None if deployment is None else int(deployment["spec"]["replicas"])


def label(group: Identity) -> Label:
    """Return the label that a group's objects have."""
    return Label(group.namespace, label_of(group.name))


def _read(pod: Mapping[str, Any], known: tuple[str, WorkerPod] | None) -> tuple[str, WorkerPod]:
    version = pod["metadata"]["resourceVersion"]
    return known if known and known[0] == version else (version, read_pod(pod))
