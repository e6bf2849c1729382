"""The node of the tests is a real one: pods run, reach each other and ask for names, and nothing of it stays."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import psutil
import pytest

from tests.cluster.pods import locked_down
from tests.cluster.starting import fewest_seconds_to_ready
from tests.testbed import binaries, run
from tests.testbed.kubernetes import cgroups, host
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.cluster import Cluster, UserCluster, new_namespace
from tests.testbed.kubernetes.images import write_archive
from tests.testbed.kubernetes.namespaces import KERNEL_SETTINGS
from tests.testbed.kubernetes.node import Node
from tests.testbed.waiting import eventually
from tools.console import CannotContinueError

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # each starts a node, and waits for several things

READY_WARM_SECONDS = 10
PATIENCE_SECONDS = 120
IMAGE = "penstock.test/probe:1"
NOBODY = 65534


@pytest.fixture(scope="session")
def probe_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = tmp_path_factory.mktemp("images") / "probe.tar"
    return write_archive(archive, name=IMAGE, program=binaries.probe(), machine=os.uname().machine)


@pytest.fixture
def namespace(cluster: Cluster | UserCluster, probe_archive: Path, cluster_namespace: Namespace) -> Namespace:
    cluster.load_image(probe_archive)
    return cluster_namespace


def container(name: str, *arguments: str, **settings: Any) -> dict[str, Any]:  # noqa: ANN401
    image = {"image": IMAGE, "imagePullPolicy": "Never"}
    return {"name": name, **image, "args": list(arguments), "securityContext": locked_down(NOBODY), **settings}


def run_pod(namespace: Namespace, name: str, *containers: dict[str, Any], **settings: Any) -> None:  # noqa: ANN401
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"restartPolicy": "Never", "containers": containers, **settings},
    }
    namespace.kubectl("create", "--filename=-", stdin=json.dumps(pod))


def output_of(namespace: Namespace, pod: str) -> str:
    """Wait until a pod has done its work, and return what it printed."""
    namespace.kubectl(
        "wait", "--for=jsonpath={.status.phase}=Succeeded", f"pod/{pod}", f"--timeout={PATIENCE_SECONDS}s"
    )
    return namespace.kubectl("logs", pod)


def test_a_pod_without_rights_runs(namespace: Namespace) -> None:
    run_pod(namespace, "confined", container("probe", "rights"))
    said = output_of(namespace, "confined").splitlines()
    assert said == [f"user {NOBODY}", "seccomp 2", "write: open /written: read-only file system"]


def test_a_native_sidecar_serves_before_the_pods_work_begins(namespace: Namespace) -> None:
    serving = {"httpGet": {"port": 8080}, "periodSeconds": 1}
    sidecar = container("sidecar", "serve", ":8080", "from the sidecar", restartPolicy="Always", startupProbe=serving)
    work = container("work", "get", "http://localhost:8080")
    run_pod(namespace, "pair", work, initContainers=[sidecar])
    assert output_of(namespace, "pair") == "from the sidecar\n"


def test_a_pod_finds_the_api_server_by_name(namespace: Namespace) -> None:
    run_pod(namespace, "lookup", container("probe", "lookup", "kubernetes.default.svc.cluster.local"))
    address = namespace.kubectl(
        "get", "service", "kubernetes", "--namespace=default", "--output=jsonpath={.spec.clusterIP}"
    )
    assert output_of(namespace, "lookup") == f"{address}\n"


def test_a_pod_reaches_another_through_a_service(namespace: Namespace) -> None:
    run_pod(namespace, "web", container("probe", "serve", ":8080", "from the other pod"))
    namespace.kubectl("create", "service", "clusterip", "web", "--tcp=80:8080")
    run_pod(namespace, "client", container("probe", "get", "http://web"))
    assert output_of(namespace, "client") == "from the other pod\n"


def test_pods_run_again_after_the_kubelet_was_killed(own_node: Node, probe_archive: Path) -> None:
    own_node.load_image(probe_archive)
    own_node.programs["kubelet"].kill()
    own_node.programs["kubelet"].start()
    own_node.wait_ready()
    namespace = new_namespace(own_node, "after")
    run_pod(namespace, "confined", container("probe", "rights"))
    assert output_of(namespace, "confined").startswith(f"user {NOBODY}")


def test_it_is_ready_within_seconds_beside_another(cluster: Cluster | UserCluster) -> None:
    """The shared cluster runs meanwhile: two nodes at once do not meet."""
    assert fewest_seconds_to_ready(Node, enough=READY_WARM_SECONDS) <= READY_WARM_SECONDS
    assert " Ready " in cluster.kubectl("get", "nodes")


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
    settings, kept = _kernel_settings(), _kept_by_the_machine()
    with _node_by_hand() as (command, kubeconfig):
        node = Cluster(kubeconfig.parent, kubectl=kubeconfig.parent / "bin" / "kubectl")
        node.load_image(probe_archive)
        namespace = new_namespace(node, "busy")
        run_pod(namespace, "web", container("probe", "serve", ":8080", "busy"))
        namespace.kubectl("wait", "--for=condition=Ready", "pod/web", f"--timeout={PATIENCE_SECONDS}s")
        folder, interface = kubeconfig.parent, _interface_of(node)
        assert _left(folder, interface) == {"processes", "interface", "cgroups", "folder"}
        assert _kept_by_the_machine() == kept, "where another node would find it, and take it for its own to remove"
        command.send_signal(ended_by)
        command.wait(PATIENCE_SECONDS)
        eventually(lambda: not _left(folder, interface), "nothing left of the node", within=PATIENCE_SECONDS)
    assert (_kernel_settings(), _kept_by_the_machine()) == (settings, kept)


@contextlib.contextmanager
def _node_by_hand() -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    apart = {name: value for name, value in os.environ.items() if name != run.VARIABLE}
    arguments = [sys.executable, "-m", "tests.testbed", "node"]
    with subprocess.Popen(arguments, cwd=run.ROOT, env=apart, stdout=subprocess.PIPE, text=True) as command:
        try:
            yield command, _kubeconfig_said(command.stdout)
        finally:
            command.kill()


def _kubeconfig_said(output: IO[str] | None) -> Path:
    assert output is not None
    said = output.readline()
    assert said.startswith("export KUBECONFIG="), said
    return Path(said.strip().removeprefix("export KUBECONFIG="))


def _interface_of(node: Cluster) -> str:
    return f"penstock-{node.url.split('.')[2]}"


def _left(folder: Path, interface: str) -> set[str]:
    """Name what is there of a node still."""
    found = {
        "processes": any(str(folder) in " ".join(_command_line(process)) for process in psutil.process_iter()),
        "mounts": str(folder) in Path("/proc/self/mounts").read_text(),
        "interface": interface in psutil.net_if_addrs(),
        "cgroups": any(group.exists() for group in cgroups.groups(interface)),
        "folder": folder.exists(),
    }
    return {name for name, is_there in found.items() if is_there}


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


def _kernel_settings() -> dict[str, str]:
    return {setting: Path("/proc/sys", setting).read_text() for setting in KERNEL_SETTINGS}


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


def _kept_by_the_machine() -> set[Path]:
    """Return what is where kubelets and containerd keep logs and networks of pods, unless they are told otherwise."""
    return {path for place in ("/var/log/pods", "/var/log/containers", "/run/netns") for path in Path(place).glob("*")}
