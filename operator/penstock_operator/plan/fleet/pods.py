"""A worker's pod, as the API server shows it, in the words that decisions are made of.

Knows where a Pod says what. Does not know what follows from it. A field that is missing means what it means in
Kubernetes: not yet.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock_operator.plan.workload.manifest import as_mapping, as_mappings
from penstock_operator.plan.workload.naming import REVISION_LABEL
from penstock_operator.resources.queue_group_template import DRIVER, ENGINE

COST_ANNOTATION = "controller.kubernetes.io/pod-deletion-cost"
OVER = ("Succeeded", "Failed")
Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a container ended the last time."""

    code: int
    reason: str
    message: str
    """What the kubelet says, or what the program said last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """How one of the pod's containers is."""

    name: str
    image: str
    is_ready: bool = False
    is_running: bool = False
    waits_for: str = ""
    """The kubelet's word for why it does not run."""
    told: str = ""
    """The kubelet's sentence for it."""
    ended: Ended | None = None
    starts: int = 0
    """How often it was started again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPod:
    """One worker, as Kubernetes sees it."""

    name: str
    revision: str
    """The print of the template that it was made from."""
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    """Why the whole pod is over, if it is."""
    node: str = ""
    is_ready: bool = False
    deleting: bool = False
    deletion_cost: int = 0
    created: str = ""
    """As the API server writes it; later ones are greater."""
    unscheduled: str = ""
    """Why no node was found for it: the scheduler's sentence."""
    containers: tuple[Container, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether nothing of it will ever run again."""
        return self.phase in OVER

    @property
    def is_there(self) -> bool:
        """Whether it counts: what is being deleted, or is over, has been replaced already."""
        return not self.deleting and not self.is_over

    @property
    def engine(self) -> Container | None:
        return self._named(ENGINE)

    @property
    def driver(self) -> Container | None:
        return self._named(DRIVER)

    @property
    def has_engine(self) -> bool:
        """Whether its engine runs: it may hold messages, and can be asked."""
        return self.engine is not None and self.engine.is_running

    def _named(self, name: str) -> Container | None:
        return next((each for each in self.containers if each.name == name), None)


def read_pod(pod: Object) -> WorkerPod:
    """Read a Pod."""
    metadata, spec, status = (as_mapping(pod.get(part)) for part in ("metadata", "spec", "status"))
    conditions = {each.get("type"): each for each in as_mappings(status.get("conditions"))}
    scheduled = conditions.get("PodScheduled", {})
    return WorkerPod(
        name=str(metadata.get("name", "")),
        revision=str(as_mapping(metadata.get("labels")).get(REVISION_LABEL, "")),
        phase=str(status.get("phase") or "Pending"),
        reason=str(status.get("reason") or ""),
        message=str(status.get("message") or "").strip(),
        node=str(spec.get("nodeName") or ""),
        is_ready=conditions.get("Ready", {}).get("status") == "True",
        deleting=metadata.get("deletionTimestamp") is not None,
        deletion_cost=_cost(as_mapping(metadata.get("annotations")).get(COST_ANNOTATION)),
        created=str(metadata.get("creationTimestamp") or ""),
        unscheduled=str(scheduled.get("message") or "") if scheduled.get("status") == "False" else "",
        containers=tuple(_containers(status)),
    )


def _cost(written: object) -> int:
    """Return a pod's deletion cost; what is none counts as 0, as Kubernetes has it."""
    try:
        return int(str(written))
    except ValueError:
        return 0


def _containers(status: Object) -> Iterator[Container]:
    for kind in ("initContainerStatuses", "containerStatuses"):
        for each in as_mappings(status.get(kind)):
            yield _container(each)


def _container(status: Object) -> Container:
    state, before = as_mapping(status.get("state")), as_mapping(status.get("lastState"))
    waiting = as_mapping(state.get("waiting"))
    ended = as_mapping(state.get("terminated")) or as_mapping(before.get("terminated"))
    return Container(
        name=str(status.get("name", "")),
        image=str(status.get("image", "")),
        is_ready=status.get("ready") is True,
        is_running="running" in state,
        waits_for=str(waiting.get("reason") or ""),
        told=str(waiting.get("message") or ""),
        ended=_ended(ended) if ended else None,
        starts=int(status.get("restartCount") or 0),
    )


def _ended(terminated: Object) -> Ended:
    return Ended(
        code=int(terminated.get("exitCode") or 0),
        reason=str(terminated.get("reason") or ""),
        message=str(terminated.get("message") or ""),
    )
