"""A node with all that the examples need: the operator by its chart, NATS and its volume, the images."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.helm import CHART, WAITING, Helm, image_values
from tests.cluster.pods import pods
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.cluster import new_namespace
from tests.testbed.kubernetes.node import NAME, Node
from tests.testbed.run import ROOT
from tests.testbed.waiting import eventually
from tools.console import say

EXAMPLES = ROOT / "examples"
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
SECONDS = 240
SHOWN = "queuegroups,deployments,statefulsets,pods"
NATS_CLAIM = "data-nats-0"


@dataclass(frozen=True)
class Stage:
    """A node that may be broken."""

    node: Node
    system: Namespace
    """Where the operator is."""

    @classmethod
    def set_up(cls, node: Node, operator_image: str) -> "Stage":
        """Install the chart, and NATS as its example has it."""
        stage = cls(node, restricted(node, "penstock"))
        Helm(stage.system)("install", "penstock", CHART, *image_values(operator_image), *WAITING)
        offer_volume(node, "nats", NATS_CLAIM)
        kubectl(stage.system, "apply", "-f", str(EXAMPLES / "nats"))
        stage.wait_nats()
        return stage

    @contextmanager
    def namespace(self, name: str) -> Iterator[Namespace]:
        """Yield a namespace that enforces the restricted pod security standard; its deletion is not awaited."""
        try:
            yield restricted(self.node, name)
        finally:
            self.node.client.begin_deletion(f"namespace/{name}")

    def wait_nats(self) -> None:
        self.system.kubectl("rollout", "status", "statefulset/nats", "--namespace=nats", f"--timeout={SECONDS}s")

    @property
    def nats(self) -> str:
        """The URL of the server, as this machine reaches it: a node of ours has a route to its services."""
        where = ["get", "service/nats", "--namespace=nats", "--output=jsonpath={.spec.clusterIP}"]
        return f"nats://{self.system.kubectl(*where)}:4222"


def restricted(node: Node, name: str) -> Namespace:
    namespace = new_namespace(node, name)
    node.client.label(f"namespace/{name}", RESTRICTED)
    return namespace


def offer_volume(node: Node, namespace: str, claim: str) -> Path:
    """Create a volume for a claim, as a node of ours has no provisioner, and return its folder on this machine."""
    folder = node.folder / "volumes" / f"{namespace}-{claim}"
    folder.mkdir(parents=True)
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NAME]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{namespace}-{claim}"},
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim},
            "local": {"path": str(folder)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
        },
    }
    node.client.create(volume)
    return folder


def kubectl(namespace: Namespace, *arguments: str) -> str:
    """Run it, and show both the command and what it said, as in a terminal."""
    said = namespace.kubectl(*arguments)
    say(f"$ kubectl {' '.join(arguments)}\n{said}".replace(f"{ROOT}/", ""))
    return said


def apply_example(namespace: Namespace, name: str, code: str) -> None:
    """Do what examples/README.md says."""
    kubectl(namespace, "create", "configmap", f"{name}-code", f"--from-file={EXAMPLES / code}")
    kubectl(namespace, "apply", "-f", str((EXAMPLES / code).parent))


def show(namespace: Namespace, title: str) -> None:
    """Show how everything stands."""
    say(f"\n── {title}")
    kubectl(namespace, "get", SHOWN)


def status(namespace: Namespace, group: str, path: str) -> str:
    return namespace.kubectl("get", f"queuegroup/{group}", f"--output=jsonpath={{.status.{path}}}")


def reason(namespace: Namespace, group: str) -> str:
    return status(namespace, group, 'conditions[?(@.type=="Ready")].reason')


def workers(namespace: Namespace, group: str) -> list[str]:
    return pods(namespace, f"penstock.dev/queue-group={group}")


def until(condition: Callable[[], bool], what: str, namespace: Namespace, seconds: float = SECONDS) -> None:
    """Wait; past the deadline, show the state of everything in the namespace."""
    try:
        eventually(condition, what, seconds)
    except TimeoutError as late:
        late.add_note(state_of(namespace))
        raise


def state_of(namespace: Namespace) -> str:
    """Return what helps to see why something does not come about."""
    asked = [
        ["get", SHOWN, "--output=wide"],
        ["get", "events", "--sort-by=.metadata.creationTimestamp"],
        ["get", "queuegroups", "--output=yaml"],
        ["describe", "pods"],
        ["logs", "--selector=app.kubernetes.io/name=penstock-worker", "--all-containers", "--prefix", "--tail=60"],
        ["logs", "--selector=app.kubernetes.io/name=penstock", "--namespace=penstock", "--prefix", "--tail=60"],
    ]
    command = [str(namespace.cluster.kubectl_program), f"--kubeconfig={namespace.kubeconfig}"]
    said = [subprocess.run([*command, *each], capture_output=True, text=True, check=False) for each in asked]
    return "\n".join(each.stdout + each.stderr for each in said)
