"""A worker in a pod: it works, to delete it disturbs no batch, and its executors are pods that go with it.

The pods are what the operator makes of a QueueGroup, one by one: no Deployment replaces them.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock_jetstream import Connection, ConsumerInfo, JetStream
from penstock_jetstream.errors import NoRespondersError
from penstock_operator.plan.workload import Equipment
from penstock_worker.engine.service import subject_of
from penstock_worker.spark.kubernetes import EXECUTORS_OF
from tests.cluster.nats_pods import forwarded, start_nats
from tests.cluster.objects import config_map, grant, secret
from tests.cluster.pods import PULL_POLICY, pods
from tests.cluster.stage import RESTRICTED
from tests.operator.plan.workload.workloads import declared, made, pod_of, understood
from tests.testbed.kubernetes.access import KubectlError, Namespace
from tests.testbed.waiting import eventually, eventually_async
from tests.worker.engine.working import create_prerequisites, settings
from tools.console import say

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # the first test of a run starts the node

MANY = 1000
PATIENT = {"maxWait": "5m"}
"""While a batch runs, arriving messages are collected for the next one."""
STREAM, CONSUMER, GROUP = "orders", "etl", "orders-etl"
CONNECTION = {"servers": ["nats://nats:4222"]}
BATCH = {"inFlight": 1}
MOST_HELD = 10_000
SECONDS = 180
SERVICE_ACCOUNT = "spark"
SECRET = {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "lake", "key": "password"}}}
CODE = """
import os, socket, sys, time
from pathlib import Path
from pyspark.sql import functions as F

def say(what):
    sys.stderr.write(what + chr(10))
    sys.stderr.flush()

@F.udf("string")
def where(_text):
    return socket.gethostname() + " " + os.environ["SECRET"]

def process(df, batch):
    texts = {row.text for row in df.selectExpr("string(data) AS text").distinct().collect()}
    if "where" in texts:
        spread = df.repartition(8).select(where("subject").alias("host")).distinct().collect()
        for row in spread:
            say("host " + row.host)
    while "hold" in texts and not Path("/tmp/go-on").exists():
        time.sleep(0.05)
"""
RIGHTS = [
    {
        "apiGroups": [""],
        "resources": ["pods", "configmaps", "services", "persistentvolumeclaims"],
        "verbs": ["create", "get", "list", "watch", "delete", "deletecollection", "patch", "update"],
    }
]


@dataclass(frozen=True)
class WorkerPods:
    """The worker pods of a namespace, and the messages that they work on."""

    namespace: Namespace
    image: str
    js: JetStream

    async def prepare(self) -> None:
        """Create everything that a worker needs to start, as the operator does."""
        await self.js.streams.create({"name": STREAM, "subjects": ["orders.>"]})
        consumer = {"durable_name": CONSUMER, "ack_policy": "explicit", "max_ack_pending": MOST_HELD}
        await self.js.consumers.create(STREAM, consumer)
        await create_prerequisites(self.js, settings("", STREAM, Path()).engine)
        self.namespace.client.create(config_map("code", {"etl.py": CODE}), secret("lake", {"password": b"hush"}))

    def start(self, name: str, **spec: Any) -> None:  # noqa: ANN401 - fields of a QueueGroup
        """Create a pod of the group's."""
        namespace = self.namespace.name
        handler = {"entrypoint": "etl:process", "configMapRef": {"name": "code"}, "env": [SECRET]}
        reached = declared("Connection", "nats", CONNECTION, namespace)
        whole = {"consumerRef": {"name": CONSUMER}, "handler": handler, "batch": BATCH, **spec}
        of = understood(declared("QueueGroup", GROUP, whole, namespace))
        pod = pod_of(made(of, reached, Equipment(worker_image=self.image, pull_policy=PULL_POLICY)))
        self.namespace.client.create({**pod, "metadata": {**pod["metadata"], "name": name}})

    def allow_executors(self) -> None:
        """Create a service account that may create pods."""
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": SERVICE_ACCOUNT}}
        self.namespace.client.create(account)
        grant(self.namespace, SERVICE_ACCOUNT, SERVICE_ACCOUNT, RIGHTS)

    async def publish(self, *texts: str) -> None:
        async with self.js.publisher() as publisher:
            acks = [await publisher.submit("orders.eu", text.encode()) for text in texts]
        for ack in acks:
            ack.result()

    async def info(self) -> ConsumerInfo:
        return await self.js.consumers.info(STREAM, CONSUMER)

    async def until_committed(self, sequence: int) -> None:
        async def is_committed() -> bool:
            return (await self.info()).ack_floor.stream_sequence >= sequence

        try:
            await eventually_async(is_committed, f"sequence {sequence} is committed", SECONDS)
        except TimeoutError as late:
            late.add_note("\n".join(map(self.logs, self.pods())))
            raise

    async def until_status(self, name: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait for a worker's status that meets the condition."""
        subject = subject_of(f"{self.namespace.name}/{GROUP}", "status", worker=name)

        async def status() -> dict[str, Any] | None:
            answer = await self.js.connection.request(subject, timeout_seconds=SECONDS)
            found: dict[str, Any] = json.loads(answer.payload)
            return found if condition(found) else None

        return await eventually_async(status, f"the status of {name}", SECONDS, not_yet=(NoRespondersError,))

    def logs(self, name: str) -> str:
        """Return the logs of a worker's containers so far."""
        said = []
        for container in ("engine", "driver"):
            try:
                said.append(self.namespace.kubectl("logs", name, f"--container={container}", "--tail=-1"))
            except KubectlError as problem:
                said.append(str(problem))
        return "\n".join(said)

    def pods(self) -> list[str]:
        return pods(self.namespace, f"penstock.dev/queue-group={GROUP}")

    def executors(self) -> list[str]:
        return pods(self.namespace, f"{EXECUTORS_OF}={GROUP}")


@pytest.fixture
async def workers(worker_image: str, nats_image: str, cluster_namespace: Namespace) -> AsyncIterator[WorkerPods]:
    """A namespace with a NATS server that from then on enforces the restricted pod security standard."""
    del nats_image
    start_nats(cluster_namespace)
    cluster_namespace.cluster.client.label(f"namespace/{cluster_namespace.name}", RESTRICTED)
    with forwarded(cluster_namespace) as url:
        async with Connection(url) as connection:
            worker_pods = WorkerPods(cluster_namespace, worker_image, JetStream(connection))
            await worker_pods.prepare()
            yield worker_pods


async def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition that calls kubectl, which blocks."""
    await asyncio.to_thread(eventually, condition, what, SECONDS)


async def test_a_pod_that_is_deleted_finishes_its_batch_and_gives_back_the_rest_at_once(workers: WorkerPods) -> None:
    await workers.publish(*["order"] * MANY)
    began = time.monotonic()
    workers.start("one", batch=PATIENT)
    await workers.until_committed(1)
    say(f"pod created to first batch committed: {time.monotonic() - began:.1f} s")
    await workers.until_committed(MANY)
    assert ".jsa" in mapped_files(workers, "one", "driver"), "Spark starts from the image's archive of classes"
    await workers.publish("hold")
    await workers.until_status("one", lambda told: bool(told["batches"]))
    await workers.publish(*["later"] * MANY)
    await workers.until_status("one", lambda told: told["heldMessages"] == 1 + MANY)
    workers.namespace.kubectl("delete", "pod", "one", "--wait=false")
    told = await workers.until_status("one", lambda told: told["heldMessages"] == 1)
    assert (told["holds"], told["ready"]) == (["driver"], False)
    workers.namespace.kubectl("exec", "one", "--container=driver", "--", "touch", "/tmp/go-on")  # noqa: S108
    released = time.monotonic()
    await workers.until_committed(MANY + 1)
    await until(lambda: not workers.pods(), "the pod is gone")
    say(f"batch released to pod gone: {time.monotonic() - released:.1f} s")
    workers.start("two")
    await workers.until_committed(2 * MANY + 1)
    info = await workers.info()
    assert (info.num_ack_pending, info.num_redelivered) == (0, 0)
    assert info.delivered.consumer_sequence == 3 * MANY + 1, "each but those that were given back was delivered once"


def mapped_files(workers: WorkerPods, pod: str, container: str) -> str:
    look = "cat /proc/[0-9]*/maps | grep /opt/penstock-java"
    return workers.namespace.kubectl("exec", pod, f"--container={container}", "--", "sh", "-c", look)


async def test_executors_are_pods_that_run_the_users_code_and_go_with_the_drivers_pod(workers: WorkerPods) -> None:
    workers.allow_executors()
    conf = {"spark.kubernetes.executor.request.cores": "100m", "spark.executor.memory": "512m"}
    began = time.monotonic()
    template = {"spec": {"serviceAccountName": SERVICE_ACCOUNT}}
    workers.start("one", spark={"master": "k8s://https://kubernetes.default.svc", "conf": conf}, template=template)
    await workers.publish(*["where"] * MANY)
    await workers.until_committed(MANY)
    say(f"pod created to first batch committed, by executors in pods: {time.monotonic() - began:.1f} s")
    await until(lambda: len(workers.executors()) == 2, "two executors")
    for executor in workers.executors():
        assert ".jsa" in mapped_files(workers, executor, "executor"), "executors start from the archive as well"
    said = workers.logs("one")
    hosts = {line.split()[1]: line.split()[2] for line in said.splitlines() if line.startswith("host ")}
    assert hosts, said
    assert hosts.keys() <= {name.removeprefix("pod/") for name in workers.executors()}
    assert set(hosts.values()) == {"hush"}, "executors have the variables of the code, also those from a Secret"
    assert "Exception" not in said
    workers.namespace.kubectl("delete", "pod", "one", "--grace-period=0", "--force", "--wait=false")
    await until(lambda: not workers.executors(), "the executors are gone")
