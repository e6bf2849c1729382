"""The node of the tests is a real one: pods run, reach each other and resolve names, and it leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.cluster.pods import NOBODY, PROBE, container, output_of, start_pod, write_probe_image
from tests.testbed import processes, run
from tests.testbed.kubernetes import cgroups, host
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.cluster import Cluster, UserCluster, new_namespace
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.kubernetes.namespaces import KERNEL_SETTINGS
from tests.testbed.kubernetes.node import Node
from tests.testbed.tests.commands import run_by_hand
from tests.testbed.waiting import eventually
from tools.console import CannotContinueError

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # each starts a node, and waits for several things

PATIENCE_SECONDS = 120
MOST_STARTS = 8


@pytest.fixture(scope="session")
def probe_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_probe_image(tmp_path_factory.mktemp("images"))


def test_a_pod_without_rights_runs(
    cluster: Cluster | UserCluster, probe_archive: Path, cluster_namespace: Namespace
) -> None:
    cluster.load_image(probe_archive)
    start_pod(cluster_namespace, "confined", container("probe", PROBE, args=["rights"]))
    assert output_of(cluster_namespace, "confined").splitlines() == [
        f"user {NOBODY}",
        "seccomp 2",
        "write: open /written: read-only file system",
    ]


@pytest.mark.parametrize(("make", "promised_seconds"), [(ControlPlane, 5), (Node, 10)])
def test_control_plane_and_node_are_ready_within_seconds_next_to_the_shared_node(
    cluster: Cluster | UserCluster, make: Callable[[], ControlPlane | Node], promised_seconds: float
) -> None:
    """The fastest of some starts counts: disks are cold, and others use the processors too."""
    assert any(seconds_to_ready(make) <= promised_seconds for _ in range(MOST_STARTS))
    assert " Ready " in cluster.kubectl("get", "nodes")


def seconds_to_ready(make: Callable[[], ControlPlane | Node]) -> float:
    began = time.monotonic()
    started = make()
    started.start()
    seconds = time.monotonic() - began
    started.stop()
    return seconds


def test_the_cluster_that_kubeconfig_names_is_used(
    own_node: Node, probe_archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(own_node.kubeconfig))
    cluster = UserCluster.reach()
    assert cluster.url == own_node.url
    with pytest.raises(CannotContinueError, match="Push them to a registry that it can pull from"):
        cluster.load_image(probe_archive)


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_nothing_is_left_of_a_node_started_by_hand(ended_by: signal.Signals, probe_archive: Path) -> None:
    settings, kept = kernel_settings(), kept_by_the_machine()
    with run_by_hand("node") as command:
        kubeconfig = Path(command.wait_for(r"^export KUBECONFIG=(.+)$"))
        folder = kubeconfig.parent
        node = Cluster(folder, kubectl=folder / "bin" / "kubectl")
        node.load_image(probe_archive)
        namespace = new_namespace(node, "busy")
        start_pod(namespace, "web", container("probe", PROBE, args=["serve", ":8080", "busy"]))
        namespace.kubectl("wait", "--for=condition=Ready", "pod/web", f"--timeout={PATIENCE_SECONDS}s")
        interface = f"penstock-{node.url.split('.')[2]}"
        assert left_of_node(folder, interface) == {"processes", "interface", "cgroups", "folder"}
        assert kept_by_the_machine() == kept, "another node would take it for its own, and remove it"
        command.end(ended_by)
        eventually(lambda: not left_of_node(folder, interface), "nothing left of the node", within=PATIENCE_SECONDS)
    assert (kernel_settings(), kept_by_the_machine()) == (settings, kept)


def left_of_node(folder: Path, interface: str) -> set[str]:
    """Return which kinds of things still exist of a node."""
    found = {
        "processes": any(str(folder) in " ".join(processes.words(process)) for process in psutil.process_iter()),
        "mounts": str(folder) in Path("/proc/self/mounts").read_text(),
        "interface": interface in psutil.net_if_addrs(),
        "cgroups": any(group.exists() for group in cgroups.groups(interface)),
        "folder": folder.exists(),
    }
    return {name for name, exists in found.items() if exists}


def kernel_settings() -> dict[str, str]:
    return {setting: Path("/proc/sys", setting).read_text() for setting in KERNEL_SETTINGS}


def kept_by_the_machine() -> set[Path]:
    """Return what is in the folders where kubelets and containerd keep logs and networks of pods by default."""
    return {path for place in ("/var/log/pods", "/var/log/containers", "/run/netns") for path in Path(place).glob("*")}


def test_without_root_it_says_so() -> None:
    os.seteuid(NOBODY)
    try:
        with pytest.raises(CannotContinueError, match="A node needs root"):
            host.require()
    finally:
        os.seteuid(0)


def test_a_missing_capability_is_named() -> None:
    without = ["setpriv", "--bounding-set=-net_admin", sys.executable, "-m", "tests.testbed", "node"]
    refused = subprocess.run(without, cwd=run.ROOT, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "A node needs CAP_NET_ADMIN, which root does not have here." in refused.stderr


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(host.PACKAGES, "/usr/bin/not-there", "the-package")
    with pytest.raises(CannotContinueError, match="not installed: the-package"):
        host.require()
