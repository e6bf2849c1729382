"""Commands from outside of a cluster, over a real kubelet: NATS is reached by its Service, and workers' logs are read.

They run with the rights that docs/permissions.md says a person needs, and no others.
"""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock_jetstream import Connection, JetStream, Tls
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.workload.naming import labels_of
from tests.cluster import nats_pods
from tests.cluster.nats_pods import SECRETS, forwarded, start_nats
from tests.cluster.objects import CRDS, Json, grant, manifest, secret
from tests.cluster.pods import PROBE, container, write_probe_image
from tests.operator.cli.commands import penstock_as
from tests.operator.conftest import install_crds
from tests.operator.running import PENSTOCK
from tests.testbed import run
from tests.testbed.certificates import Authority
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.cluster import Cluster, UserCluster, new_namespace
from tests.testbed.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # the first test of a run starts the node

SECONDS = 120
DEAD = "dead.ORDERS.etl"
LARGE_BYTES = 900_000
PERMISSIONS = run.ROOT / "docs" / "permissions.md"
HEEDING_INTERRUPTS = [
    sys.executable,
    "-c",
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])",
]
"""Runs a command so that Ctrl-C ends it, also where the tests run as a background job, which ignores Ctrl-C."""
TLS = {"cert_file": f"{SECRETS}/tls.crt", "key_file": f"{SECRETS}/tls.key"}


@pytest.fixture(scope="module")
def there(cluster: Cluster | UserCluster, nats_image: str) -> Iterator[Namespace]:
    """A namespace where our kinds are known, with a NATS server that speaks TLS under the name of its Service alone."""
    del nats_image
    namespace = new_namespace(cluster, f"commands-{time.time_ns() % 10**9}")
    install_crds(cluster)
    authority = Authority.new("nats-ca")
    server = authority.server(f"nats.{namespace.name}")
    namespace.client.create(
        secret("nats-tls", {"tls.crt": server.pem, "tls.key": server.key_pem}),
        secret("nats-ca", {"ca.crt": authority.certificate.pem}),
    )
    start_nats(namespace, extra={"tls": TLS}, secret="nats-tls")
    declare(namespace)
    with forwarded(namespace) as url:
        ca = authority.certificate.write(run.current().new_folder("ca"), "ca").certificate
        asyncio.run(fill(url, ca, f"nats.{namespace.name}"))
    yield namespace
    cluster.kubectl("delete", *CRDS, f"--timeout={SECONDS}s")
    cluster.client.begin_deletion(f"namespace/{namespace.name}")


def declare(namespace: Namespace) -> None:
    ca = {"caSecretRef": {"name": "nats-ca", "key": "ca.crt"}}
    namespace.client.create(
        manifest("Connection", "nats", {"servers": [f"nats://nats.{namespace.name}:4222"], "tls": ca}),
        manifest("Connection", "away", {"servers": ["nats://nobody:4222"]}),
        manifest("Stream", "orders", {"connectionRef": {"name": "nats"}, "name": "ORDERS", "subjects": ["orders.>"]}),
        manifest("Stream", "away", {"connectionRef": {"name": "away"}, "name": "AWAY", "subjects": ["away"]}),
        manifest("Consumer", "etl", {"streamRef": {"name": "orders"}}),
        manifest("Consumer", "away", {"streamRef": {"name": "away"}}),
        manifest("QueueGroup", "orders", group("etl")),
        manifest("QueueGroup", "away", group("away")),
    )
    spec = {"selector": {"app": "nobody"}, "ports": [{"port": 4222}]}
    namespace.client.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "nobody"}, "spec": spec})


def group(consumer: str) -> Json:
    return {
        "consumerRef": {"name": consumer},
        "handler": {"entrypoint": "etl:process", "configMapRef": {"name": "etl"}},
    }


async def fill(url: str, ca: Path, name: str) -> None:
    """Create streams and two dead letters, a small and a large one."""
    async with Connection(url, tls=Tls(ca=ca, server_name=name)) as connection:
        jetstream = JetStream(connection)
        await jetstream.streams.create({"name": "ORDERS", "subjects": ["orders.>"]})
        await jetstream.consumers.create("ORDERS", {"durable_name": "etl", "ack_policy": "explicit"})
        await jetstream.streams.create({"name": "ORDERS-etl-dead", "subjects": [f"{DEAD}.>"]})
        for payload in (b"{}", b"x" * LARGE_BYTES):
            await jetstream.publish(f"{DEAD}.orders.new", payload, headers={"Penstock-Reason": "no amount"})


@pytest.fixture(scope="module")
def person(there: Namespace) -> Path:
    """The kubeconfig of a service account with the rights of docs/permissions.md."""
    return account(there, "person", role())


def role() -> list[Json]:
    """Return the rules that docs/permissions.md has for a person."""
    blocks = re.findall(r"```yaml\n(.*?)```", PERMISSIONS.read_text(), re.DOTALL)
    [block] = [each for each in blocks if "kind: Role\n" in each]
    rules: list[Json] = yaml.safe_load(block)["rules"]
    return rules


def account(namespace: Namespace, name: str, rules: list[Json]) -> Path:
    """Return the kubeconfig of a new service account with these rights."""
    namespace.client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    grant(namespace, name, name, rules)
    return namespace.kubeconfig_for_service_account(name)


def data(who: Path, *words: str) -> Any:  # noqa: ANN401 - JSON
    outcome = penstock_as(who, *words, "-o", "json")
    assert outcome.returncode == 0, outcome.stderr
    return json.loads(outcome.stdout)


def test_nats_is_reached_by_the_name_of_its_service_and_has_to_be_who_it_says(there: Namespace, person: Path) -> None:
    letters = data(person, "dead", "list", "orders")["deadLetters"]
    assert [(each["group"], each["bytes"]) for each in letters] == [
        (f"{there.name}/orders", LARGE_BYTES),
        (f"{there.name}/orders", 2),
    ]
    large = penstock_as(person, "dead", "show", "2", "-g", "orders", "--raw")
    assert (large.stdout, large.stderr) == ("x" * LARGE_BYTES, "")
    assert data(person, "batches", "orders") == {"batches": []}
    assert penstock_as(person, "drain", "orders", "--timeout", "60").returncode == 0
    assert there.kubectl("get", "queuegroup/orders", "--output=jsonpath={.spec.suspend}") == "true"
    doctor = penstock_as(person, "doctor", "-o", "json")  # it fails: there is no operator
    findings = json.loads(doctor.stdout)["findings"]
    [server] = [finding for finding in findings if finding["what"] == f"nats://nats.{there.name}:4222"]
    assert server["verdict"] == "good"


def test_a_service_without_a_ready_pod_is_told(person: Path) -> None:
    outcome = penstock_as(person, "dead", "list", "away")
    assert outcome.returncode == 1
    assert "No pod is ready behind Service" in outcome.stderr
    assert "--server URL" in outcome.stderr


def test_who_may_not_forward_is_told_which_right_is_missing_and_may_name_a_server(
    there: Namespace, person: Path
) -> None:
    del person
    rules = [rule for rule in role() if "pods/portforward" not in rule["resources"]]
    kubeconfig = account(there, "confined", rules)
    outcome = penstock_as(kubeconfig, "dead", "list", "orders")
    assert outcome.returncode == 1
    assert "that needs the verbs get and create on pods/portforward" in outcome.stderr
    with forwarded(there) as url:
        named = penstock_as(kubeconfig, "dead", "list", "orders", "--server", url)
    assert "is not trusted" in named.stderr  # the server there has another name: TLS looks at that of --server


@pytest.fixture(scope="module")
def worker(there: Namespace, cluster: Cluster | UserCluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A pod that resembles a worker: an engine that keeps running, and a driver that logs one line and ends."""
    cluster.load_image(write_probe_image(tmp_path_factory.mktemp("images")))
    return start_worker(there, "orders-0")


def start_worker(namespace: Namespace, name: str) -> str:
    engine = container("engine", nats_pods.IMAGE, restartPolicy="Always")
    logger = container("logger", PROBE, restartPolicy="Always", args=["serve", ":8080", told(name)])
    driver = container("driver", PROBE, args=["get", "http://localhost:8080"])
    spec = {"initContainers": [engine, logger], "containers": [driver]}
    labels = labels_of(Identity("QueueGroup", namespace.name, "orders"))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}
    namespace.client.create(pod)
    return name


def told(name: str) -> str:
    """Return the line that a driver logs."""
    return json.dumps({"time": "2026-01-31T12:00:00.250+00:00", "level": "info", "message": f"I am {name}."})


def test_logs_of_all_containers_are_shown_and_followed_over_pods_that_come(
    there: Namespace, person: Path, worker: str
) -> None:
    of_drivers = ("logs", "orders", "--driver", "--json")
    eventually(lambda: penstock_as(person, *of_drivers).stdout != "", "the driver has logged its line", SECONDS)
    assert set(penstock_as(person, *of_drivers).stdout.splitlines()) == {told(worker)}
    assert f"{worker} engine" in penstock_as(person, "logs", "orders", "--engine").stdout
    with following(person, *of_drivers, "--follow") as (process, lines):
        start_worker(there, "orders-1")
        eventually(lambda: told("orders-1") in lines, "the log of a new worker is shown", SECONDS)
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0
    previous = ("logs", "orders", "--previous", "--worker", worker, "--json")  # a kubelet keeps the last one alone
    eventually(
        lambda: penstock_as(person, *previous).stdout == f"{told(worker)}\n", "the driver has started again", SECONDS
    )
    nobody = penstock_as(person, "logs", "nobody")
    assert (nobody.returncode, nobody.stdout) == (0, "")
    assert nobody.stderr.startswith("No worker runs for QueueGroup nobody")


@contextlib.contextmanager
def following(who: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Run a command that goes on, and collect what it prints."""
    environment = {**os.environ, "KUBECONFIG": str(who), "PYTHONUNBUFFERED": "1"}
    command = [*HEEDING_INTERRUPTS, str(PENSTOCK), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    lines: list[str] = []
    assert process.stdout is not None
    said = process.stdout
    reading = threading.Thread(target=lambda: lines.extend(line.rstrip("\n") for line in said))
    reading.start()
    try:
        yield process, lines
    finally:
        process.kill()
        process.wait()
        reading.join()
        said.close()
