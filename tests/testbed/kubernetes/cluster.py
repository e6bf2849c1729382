"""A cluster that runs pods: a node that some process of this run started, or the cluster that the user names."""

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.testbed import run
from tests.testbed.kubernetes import assets
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.waiting import eventually
from tools.console import CannotContinueError

REGISTRY_VARIABLE = "PENSTOCK_IMAGE_REGISTRY"
NAMESPACE = "k8s.io"  # where containerd keeps what is Kubernetes'
KNOWN_SECONDS = 90
ACCOUNT_SECONDS = 90


class Cluster(Access):
    """A node of ours. It never pulls images: they are loaded."""

    @property
    def containerd_socket(self) -> Path:
        return self.folder / "containerd.sock"

    def load_image(self, archive: Path) -> None:
        """Load the images of an OCI or docker archive, once for all parallel test processes."""
        status = archive.stat()
        identity = f"{self.folder} {archive.resolve()} {status.st_mtime_ns} {status.st_size}"
        digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
        run.current().shared(f"image-{digest}", lambda: self._import(archive))

    def images(self) -> list[str]:
        """Return the names of the images that pods can run."""
        return self._ctr("images", "list", "--quiet", 'labels."io.cri-containerd.image"==managed')

    def _import(self, archive: Path) -> dict[str, Any]:
        self._ctr("images", "import", str(archive))
        images = set(self._ctr("images", "list", "--quiet"))
        eventually(lambda: images <= set(self.images()), f"{archive.name} known to the kubelet", KNOWN_SECONDS)
        return {"images": sorted(images)}

    def _ctr(self, *arguments: str) -> list[str]:
        command = ["ctr", f"--address={self.containerd_socket}", f"--namespace={NAMESPACE}", *arguments]
        outcome = subprocess.run(command, capture_output=True, text=True, check=False)
        if outcome.returncode:
            raise RuntimeError(f"`ctr {' '.join(arguments)}` failed: {outcome.stderr.strip()}")
        return outcome.stdout.splitlines()


class UserCluster(Access):
    """The cluster that KUBECONFIG names. Images get there by a registry that it can reach, which is the user's."""

    @classmethod
    def reach(cls) -> "UserCluster":
        folder = run.current().new_folder("cluster")
        programs = assets.node(folder / "bin")
        cluster = cls(folder, kubectl=programs / "kubectl")
        view = ["config", "view", "--raw", "--minify", "--flatten"]  # of all that KUBECONFIG may list
        shown = subprocess.run([cluster.kubectl_program, *view], capture_output=True, text=True, check=False)
        if shown.returncode:
            raise CannotContinueError(
                f"KUBECONFIG is {os.environ['KUBECONFIG']}, which cannot be used: {shown.stderr.strip()}\n"
                "Name a kubeconfig with a current context, or unset it, and the tests start a node of their own."
            )
        cluster.kubeconfig.touch(mode=0o600)
        cluster.kubeconfig.write_text(shown.stdout)
        return cluster

    def load_image(self, archive: Path) -> None:
        """Make sure that somebody has seen to the images."""
        if REGISTRY_VARIABLE not in os.environ:
            raise CannotContinueError(
                f"The tests need the images of {archive.name} in the cluster that KUBECONFIG names.\n"
                f"Push them to a registry that it can pull from, and set {REGISTRY_VARIABLE} to that registry's name;\n"
                "or unset KUBECONFIG, and the tests start a node of their own."
            )


def new_namespace(cluster: Access, name: str) -> Namespace:
    """Make a namespace, and wait until a controller has made the service account that pods run as."""
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    namespace = Namespace(cluster, name)
    eventually(lambda: namespace.client.find("serviceaccount/default"), "default service account", ACCOUNT_SECONDS)
    return namespace
