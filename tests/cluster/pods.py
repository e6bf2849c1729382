"""Pods as locked down as a careful cluster wants them: no rights, any user, a read-only root, and a writable /tmp."""

import json
from collections.abc import Sequence
from typing import Any

from tests.testbed.kubernetes.access import Namespace

PULL_POLICY = "IfNotPresent"


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


def run_to_its_end(
    namespace: Namespace,
    name: str,
    image: str,
    *,
    command: Sequence[str] = (),
    args: Sequence[str] = (),
    user: int = 10001,
) -> str:
    """Run a pod and return what it printed, or fail with it."""
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": PULL_POLICY,
        "args": [*args],
        "securityContext": locked_down(user),
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - a volume of the pod's own
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "containers": [container | ({"command": [*command]} if command else {})],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        },
    }
    namespace.kubectl("create", "--filename=-", stdin=json.dumps(pod))
    ended = "--for=jsonpath={.status.containerStatuses[0].state.terminated}"
    namespace.kubectl("wait", ended, f"pod/{name}", "--timeout=240s")
    said = namespace.kubectl("logs", name)
    code = namespace.kubectl(
        "get", "pod", name, "--output=jsonpath={.status.containerStatuses[0].state.terminated.exitCode}"
    )
    assert code == "0", said
    return said
