"""Where the programs of a control plane come from: the folder that the user names, or kubebox.

KUBEBUILDER_ASSETS is the convention by which a user brings an etcd, kube-apiserver and kubectl of their own. Without
it, links to kubebox stand in: one binary that is each component by the name that it is called by.
"""

import os
from pathlib import Path

from tests.testbed import binaries
from tools.console import CannotContinueError

VARIABLE = "KUBEBUILDER_ASSETS"
CONTROL_PLANE = ("etcd", "kube-apiserver", "kubectl")
CONTROLLERS = ("kube-controller-manager",)
NODE = (*CONTROLLERS, "kube-scheduler", "kubelet", "kube-proxy")


def control_plane(folder: Path) -> Path:
    """Return a folder with the programs of a control plane: the user's own, or links made in the folder given."""
    brought = os.environ.get(VARIABLE)
    if not brought:
        return _links(folder, CONTROL_PLANE)
    missing = [name for name in CONTROL_PLANE if not os.access(Path(brought) / name, os.X_OK)]
    if missing:
        raise CannotContinueError(
            f"{VARIABLE} is {brought}, but no program {' or '.join(missing)} is there.\n"
            f"The folder has to hold {', '.join(CONTROL_PLANE)}. Without the variable, the testbed builds its own."
        )
    return Path(brought)


def controllers(folder: Path) -> Path:
    """Return a folder with the controllers of a cluster: always ours."""
    return _links(folder, CONTROLLERS)


def node(folder: Path) -> Path:
    """Return a folder with the programs of a whole node, all of one version: always ours."""
    return _links(folder, CONTROL_PLANE + NODE)


def _links(folder: Path, names: tuple[str, ...]) -> Path:
    kubebox = binaries.kubebox()
    folder.mkdir(exist_ok=True, parents=True)
    for name in names:
        (folder / name).symlink_to(kubebox)
    return folder
