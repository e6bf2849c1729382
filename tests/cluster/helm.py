"""Helm against a namespace of a cluster, and the chart as these tests install it: with the image of this run."""

import subprocess
from dataclasses import dataclass

from tests.testbed import binaries
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.run import ROOT
from tests.testbed.waiting import eventually
from tools.console import say

CHART = str(ROOT / "charts/penstock")
PODS = "--selector=app.kubernetes.io/name=penstock"
WAITING = ("--wait", "--timeout=180s")
LEADER_SECONDS = 120


@dataclass(frozen=True)
class Helm:
    namespace: Namespace

    def __call__(self, *arguments: str) -> str:
        """Run it; a failure shows what the release came to."""
        where = [f"--kubeconfig={self.namespace.kubeconfig}", f"--namespace={self.namespace.name}"]
        outcome = subprocess.run([binaries.helm(), *arguments, *where], capture_output=True, text=True, check=False)
        assert outcome.returncode == 0, outcome.stderr + self.state()
        say(f"$ helm {' '.join(arguments)}\n{outcome.stdout}")
        return outcome.stdout

    def install(self, image: str, *arguments: str) -> None:
        """Install the chart with an image, for the namespace alone, and wait until it is ready."""
        self("install", "penstock", CHART, *self.values(image), *arguments, *WAITING)

    def values(self, image: str) -> list[str]:
        return [*image_values(image), f"--set=namespaces={{{self.namespace.name}}}"]

    def uninstall(self) -> None:
        self("uninstall", "penstock", *WAITING)

    def state(self) -> str:
        """Return what helps to see why a release does not become ready."""
        logs = self.namespace.kubectl("logs", PODS, "--prefix", "--tail=-1")
        return self.namespace.kubectl("describe", "pods") + logs


def image_values(image: str) -> list[str]:
    """Return the arguments that have the chart use an image."""
    repository, _, tag = image.rpartition(":")
    return [f"--set=image.repository={repository}", f"--set-string=image.tag={tag}"]


def worker_image_values(image: str) -> list[str]:
    """Return the arguments that have workers use an image."""
    return [argument.replace("=image.", "=worker.image.") for argument in image_values(image)]


def wait_leader(namespace: Namespace, *, other_than: str = "") -> str:
    """Return the pod of the leading replica, once one leads: a replica may be ready before."""

    def new_leader() -> str | None:
        found = leader(namespace)
        return found if found != other_than else None

    return eventually(new_leader, f"a leader other than {other_than!r}", LEADER_SECONDS)


def leader(namespace: Namespace) -> str:
    """Return the pod of the leading replica; an empty string if none leads."""
    holder = "--output=jsonpath={.spec.holderIdentity}"
    return namespace.kubectl("get", "lease/penstock", "--ignore-not-found", holder).rpartition("_")[0]
