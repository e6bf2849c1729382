"""Pods as locked down as a careful cluster wants them: no rights, any user, a read-only root, and a writable /tmp."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.testbed import binaries
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.images import write_archive

PULL_POLICY = "IfNotPresent"
NOBODY = 65534
SECONDS = 240
PROBE = "penstock.test/probe:1"
"""An image whose program reports on, serves in and looks around in its pod."""


def pods(namespace: Namespace, selector: str) -> list[str]:
    return namespace.kubectl("get", "pods", f"--selector={selector}", "--output=name").split()


def write_probe_image(folder: Path) -> Path:
    return write_archive(folder / "probe.tar", name=PROBE, program=binaries.probe())


def locked_down(user: int) -> dict[str, Any]:
    """Return a container's security context in which it may do nothing that it need not."""
    return {
        "runAsNonRoot": True,
        "runAsUser": user,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container(name: str, image: str, *, user: int = NOBODY, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return a locked-down container of an image that the node has."""
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": PULL_POLICY,
        "securityContext": locked_down(user),
        **fields,
    }


def start_pod(namespace: Namespace, name: str, *containers: Mapping[str, Any], **spec: Any) -> None:  # noqa: ANN401
    """Create a pod that is not restarted, with a volume `tmp`, and its name as the label `app`."""
    whole = {"restartPolicy": "Never", "containers": containers, "volumes": [{"name": "tmp", "emptyDir": {}}], **spec}
    metadata = {"name": name, "labels": {"app": name}}
    namespace.client.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole})


def output_of(namespace: Namespace, pod: str) -> str:
    """Wait until a pod has ended, and return what it printed, or fail with it."""
    ended = "{.status.containerStatuses[0].state.terminated}"
    namespace.kubectl("wait", f"--for=jsonpath={ended}", f"pod/{pod}", f"--timeout={SECONDS}s")
    printed = namespace.kubectl("logs", pod)
    [status] = namespace.client.get(f"pod/{pod}")["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 0, printed
    return printed


def run_pod(namespace: Namespace, name: str, image: str, *, user: int = 10001, **fields: Any) -> str:  # noqa: ANN401
    """Run a pod with a writable /tmp, and return what it printed."""
    mounts = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 - a volume of the pod's own
    start_pod(namespace, name, container("main", image, user=user, volumeMounts=mounts, **fields))
    return output_of(namespace, name)
