"""What tests of a whole cluster share: the images, built in this run and loaded into the cluster; NATS; Helm."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock_operator.resources import KINDS, has_policy, policy
from tests.cluster import nats_pods
from tests.cluster.helm import Helm
from tests.cluster.objects import CRDS
from tests.cluster.stage import Stage
from tests.testbed import run
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.cluster import REGISTRY_VARIABLE, Cluster, UserCluster
from tests.testbed.kubernetes.node import Node
from tools.images import tag

POLICIES = [
    f"{each['kind'].lower()}/{each['metadata']['name']}" for kind in KINDS if has_policy(kind) for each in policy(kind)
]
SECONDS = 120
ARCHIVES = run.ROOT / ".cache" / "images"


@pytest.fixture(scope="session")
def operator_image(cluster: Cluster | UserCluster) -> str:
    """The operator's image, as the cluster knows it."""
    return load(cluster, "operator")


@pytest.fixture(scope="session")
def worker_image(cluster: Cluster | UserCluster) -> str:
    """The worker's image, as the cluster knows it."""
    return load(cluster, "worker")


@pytest.fixture(scope="session")
def nats_image(cluster: Cluster | UserCluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The NATS server from PyPI as an image that the cluster knows."""
    cluster.load_image(nats_pods.write_image(tmp_path_factory.mktemp("images")))
    return nats_pods.IMAGE


@pytest.fixture
def helm(cluster_namespace: Namespace) -> Iterator[Helm]:
    """Helm in the test's namespace. Deletes what outlives the namespace: the CRDs, and policies that are installed."""
    yield Helm(cluster_namespace)
    cluster_namespace.kubectl("delete", *CRDS, *POLICIES, "--ignore-not-found", f"--timeout={SECONDS}s")


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A node with the operator and NATS, for tests of the examples, which may break it and repair it."""
    node = Node()
    node.start()
    node.load_image(nats_pods.write_image(tmp_path_factory.mktemp("images"), nats_pods.EXAMPLES_IMAGE))
    operator_image = load(node, "operator")
    load(node, "worker")
    yield Stage.set_up(node, operator_image)
    node.stop()


def load(cluster: Cluster | UserCluster, target: str) -> str:
    """Load the image into a cluster, built now if it was not; return its name there."""
    archive = Path(run.current().shared(f"image-{target}", lambda: _build(target))["archive"])
    cluster.load_image(archive)
    if isinstance(cluster, UserCluster):
        return tag(target).replace("docker.io", os.environ[REGISTRY_VARIABLE])
    return tag(target)


def _build(target: str) -> dict[str, Any]:
    command = [sys.executable, "tools/images.py", target, "--archive", str(ARCHIVES)]
    outcome = subprocess.run(command, cwd=run.ROOT, capture_output=True, text=True, check=False)
    if outcome.returncode:
        raise RuntimeError(f"`make images` fails:\n{outcome.stderr[-4000:]}")
    return {"archive": outcome.stdout.splitlines()[-1]}
