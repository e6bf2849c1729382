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
from tests.testbed import run
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.cluster import REGISTRY_VARIABLE, Cluster, UserCluster
from tools.images import tag

POLICIES = [
    f"{each['kind'].lower()}/{each['metadata']['name']}" for kind in KINDS if has_policy(kind) for each in policy(kind)
]
ARCHIVES = run.ROOT / ".cache" / "images"


@pytest.fixture(scope="session")
def operator_image(cluster: Cluster | UserCluster) -> str:
    """The operator's image, as the cluster knows it."""
    return _loaded(cluster, "operator")


@pytest.fixture(scope="session")
def worker_image(cluster: Cluster | UserCluster) -> str:
    """The worker's image, as the cluster knows it."""
    return _loaded(cluster, "worker")


@pytest.fixture(scope="session")
def nats_image(cluster: Cluster | UserCluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The NATS server from PyPI as an image that the cluster knows."""
    cluster.load_image(nats_pods.write_image(tmp_path_factory.mktemp("images")))
    return nats_pods.IMAGE


@pytest.fixture
def helm(cluster_namespace: Namespace) -> Iterator[Helm]:
    """Helm in the test's namespace. Not every test uninstalls what it installs: then the policies would stay."""
    yield Helm(cluster_namespace)
    cluster_namespace.kubectl("delete", *POLICIES, "--ignore-not-found")


def _loaded(cluster: Cluster | UserCluster, target: str) -> str:
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
