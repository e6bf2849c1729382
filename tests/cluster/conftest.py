"""What tests of a whole cluster share: the images, built in this run from these sources, loaded into the cluster."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.testbed import run
from tests.testbed.kubernetes.cluster import REGISTRY_VARIABLE, Cluster, UserCluster
from tools.images import tag

ARCHIVES = run.ROOT / ".cache" / "images"


@pytest.fixture(scope="session")
def operator_image(cluster: Cluster | UserCluster) -> str:
    """The operator's image, as the cluster knows it."""
    return _loaded(cluster, "operator")


@pytest.fixture(scope="session")
def worker_image(cluster: Cluster | UserCluster) -> str:
    """The worker's image, as the cluster knows it."""
    return _loaded(cluster, "worker")


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
