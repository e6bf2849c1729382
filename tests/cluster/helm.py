"""Helm against a namespace of a cluster, and the chart as these tests install it: with the image of this run.

Knows Helm's command line and the chart's values. Does not know what a test makes of the release.
"""

import subprocess
from dataclasses import dataclass

from tests.testbed import binaries
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.run import ROOT
from tools.console import say

CHART = str(ROOT / "charts/penstock")
PODS = "--selector=app.kubernetes.io/name=penstock"
WAITING = ("--wait", "--timeout=180s")


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
        """Install the chart with an image, and wait until it is ready."""
        self("install", "penstock", CHART, *image_values(image), *arguments, *WAITING)

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


def leader(namespace: Namespace) -> str:
    """Return the pod whose replica leads; nothing if none does."""
    holder = "--output=jsonpath={.spec.holderIdentity}"
    return namespace.kubectl("get", "lease/penstock", "--ignore-not-found", holder).rpartition("_")[0]
