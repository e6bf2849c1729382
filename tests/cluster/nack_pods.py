"""NACK's controller in a pod, as its own tests run it: beside a NATS server called nats, served a namespace.

Knows NACK's command line, and which rights it needs. Its mode is what its tests have a file for each:
nack-control-loop.yaml and nack-legacy.yaml.
"""

import json
import os
from pathlib import Path

from tests.cluster.pods import locked_down
from tests.testbed import binaries
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.kubernetes.images import write_archive

IMAGE = "penstock.test/nack:1"
GROUP = "jetstream.nats.io"
URL = "nats://nats:4222"
KINDS = ("streams.jetstream.nats.io", "consumers.jetstream.nats.io")
MODES = ("control-loop", "legacy")
NOBODY = 65534
SECONDS = 120
RIGHTS = [
    {"apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
]


def write_image(folder: Path) -> Path:
    return write_archive(folder / "nack.tar", name=IMAGE, program=binaries.nack(), machine=os.uname().machine)


def crds() -> str:
    return str(binaries.nack_sources() / "deploy" / "crds.yml")


def install_crds(cluster: Access) -> None:
    cluster.kubectl("apply", "--server-side", "--filename", crds())
    cluster.kubectl("wait", "--for=condition=Established", "--filename", crds(), f"--timeout={SECONDS}s")


def remove_crds(cluster: Access) -> None:
    """Have them removed; whether they are gone is not waited for.

    An API server may never finish with a kind whose objects nobody has ever asked for, as some of these are.
    """
    cluster.kubectl("delete", "--filename", crds(), "--wait=false")


def start_nack(namespace: Namespace, mode: str, *, has_accounts: bool) -> None:
    """Start it; it is done with a manifest when that is Ready."""
    how = ["--control-loop"] if mode == "control-loop" else ["--crd-connect"] * has_accounts
    container = {
        "name": "nack",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "args": ["-s", URL, f"--namespace={namespace.name}", *how],
        "securityContext": locked_down(NOBODY),
        "workingDir": "/tmp",  # noqa: S108 - a volume of the pod's own, where the control loop keeps a cache
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108
    }
    pod = {"containers": [container], "volumes": [{"name": "tmp", "emptyDir": {}}]}
    named = {"name": "nack"}
    rbac = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": namespace.name}
    role = {"apiGroup": rbac, "kind": "Role", "name": "nack"}
    parts = [
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": named, "rules": RIGHTS},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": named,
            "roleRef": role,
            "subjects": [subject],
        },
        {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": pod},
    ]
    namespace.kubectl("create", "--filename=-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": parts}))


def stop_nack(namespace: Namespace) -> None:
    """Stop it, and let go of what it made: the control loop's finalizers would hold the namespace."""
    namespace.kubectl("delete", "pod/nack", "--grace-period=0", "--force")
    for kind in (*KINDS, "accounts.jetstream.nats.io"):
        for name in namespace.kubectl("get", kind, "--output=name").split():
            namespace.kubectl("patch", name, "--type=merge", "--patch", json.dumps({"metadata": {"finalizers": None}}))
        namespace.kubectl("delete", kind, "--all", f"--timeout={SECONDS}s")
