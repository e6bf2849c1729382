"""What keeps a worker's pod from working, as Kubernetes sees it: a reason, a sentence, and what to do.

Knows how the kubelet and the scheduler tell it, and the exit codes of a worker's programs. Does not know what the
worker says of itself (troubles.py). The sentence stays the same from one try to the next.
"""

from dataclasses import dataclass

from penstock_operator.plan.fleet.last_words import ended, kubelets, last_error, pulling, schedulers, shortened
from penstock_operator.plan.fleet.pods import Container, Ended, WorkerPod
from penstock_operator.plan.reasons import Reason
from penstock_operator.resources.queue_group_template import DRIVER, ENGINE

UNFIT, CODE_STOPPED = 2, 3
"""Exit codes of the engine and the driver, as penstock_worker has them."""
NOT_STARTED = 128
KILLED = 137
NO_IMAGE = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"})
NOT_MADE = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
OUT_OF_MEMORY = "OOMKilled"
BACK_OFF = "CrashLoopBackOff"
SOME_STARTS = 2
"""One end may happen to anybody; a container that runs again after two is not over it before it is ready."""


@dataclass(frozen=True, slots=True)
class Ailment:
    """What keeps a worker from working."""

    reason: Reason
    message: str


def ailment_of(pod: WorkerPod) -> Ailment | None:
    """Tell what ails a pod; None if nothing does, or if it is on its way to work, or to its end."""
    if pod.deleting or pod.phase == "Succeeded":
        return None
    if pod.phase == "Failed":
        return Ailment(Reason.CRASHING, f"The pod failed: {_over(pod)}")
    if pod.unscheduled:
        return Ailment(
            Reason.UNSCHEDULABLE,
            f"No node takes it: {ended(schedulers(pod.unscheduled))} Ask for less in spec.template, or add nodes.",
        )
    return next((found for each in pod.containers if (found := _of_container(each))), None)


def _over(pod: WorkerPod) -> str:
    return (
        f"{pod.reason}. {ended(shortened(pod.message))}" if pod.reason else ended(shortened(pod.message) or "No reason")
    )


def _of_container(container: Container) -> Ailment | None:
    if container.waits_for in NO_IMAGE:
        return Ailment(Reason.IMAGE_NOT_PULLED, _no_image(container))
    if container.waits_for in NOT_MADE and container.ended is None:
        return _not_made(container)
    if container.ended is None or container.is_ready:
        return None
    return _of_end(container, container.ended)


def _no_image(container: Container) -> str:
    to_do = {
        DRIVER: "Correct spec.handler.image, or name a pull secret in spec.template.spec.imagePullSecrets.",
        ENGINE: "It is the operator's worker image: whoever runs the operator sets it.",
    }.get(container.name, "Correct it in spec.template.")
    return (
        f"A node cannot get the image {container.image} of {_the(container)}: {ended(pulling(container.told))} {to_do}"
    )


def _not_made(container: Container) -> Ailment:
    told = kubelets(container.told)
    reason = Reason.SECRET_NOT_FOUND if told.lower().startswith("secret ") else Reason.PODS_REFUSED
    return Ailment(reason, f"A node cannot make the container of {_the(container)}: {ended(told)}")


def _of_end(container: Container, end: Ended) -> Ailment | None:
    told = last_error(end.message)
    if container.name in (ENGINE, DRIVER):
        if container.name == ENGINE and end.code == CODE_STOPPED:
            return Ailment(Reason.CODE_FAILED, ended(told or "The code cannot process what it is given"))
        if end.code == UNFIT:
            sentence = f"{_The(container)} cannot use what it is told: {ended(told or 'it does not say why')}"
            return Ailment(Reason.INVALID, sentence)
    if end.reason == OUT_OF_MEMORY:
        return Ailment(Reason.CRASHING, _out_of_memory(container))
    if container.is_running and container.starts < SOME_STARTS:
        return None
    return Ailment(Reason.CRASHING, _crash(container, end, told))


def _out_of_memory(container: Container) -> str:
    place = "initContainers" if container.name == ENGINE else "containers"
    smaller = ", or make batches smaller (spec.batch.maxBytes)" if container.name in (ENGINE, DRIVER) else ""
    return (
        f"{_The(container)} needs more memory than its limit, and was ended: raise "
        f"spec.template.spec.{place}[{container.name}].resources.limits.memory{smaller}."
    )


def _crash(container: Container, end: Ended, told: str) -> str:
    if end.code == NOT_STARTED:
        to_do = " An image for workers is built from the worker image." if container.name == DRIVER else ""
        return f"{_The(container)} cannot be started: {ended(shortened(end.message))}{to_do}"
    if end.code == KILLED:
        return f"{_The(container)} was killed: {ended(told or 'it did not answer its probe, or did not end in time')}"
    return f"{_The(container)} ends again and again, with exit code {end.code}: {ended(told or 'it does not say why')}"


def _the(container: Container) -> str:
    return f"the {container.name}" if container.name in (ENGINE, DRIVER) else f"the container {container.name}"


def _The(container: Container) -> str:  # noqa: N802 - the same, as a sentence begins
    return f"T{_the(container)[1:]}"
