"""Pods of a worker as the operator makes them of a QueueGroup, one by one: no Deployment makes another in its place.

Knows what such pods find when they come, and how a worker is asked. Does not know what a test does with it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock_jetstream import ConsumerInfo, JetStream
from penstock_jetstream.errors import NoRespondersError
from penstock_operator.plan.workload import Equipment
from penstock_worker.engine.service import subject_of
from penstock_worker.spark.kubernetes import EXECUTORS_OF
from tests.cluster.pods import PULL_POLICY
from tests.operator.plan.workload.workloads import declared, made, pod_of, understood
from tests.testbed.kubernetes.access import KubectlError, Namespace
from tests.testbed.waiting import eventually_async

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
        """Have everything that a worker finds when it comes."""
        await self.js.streams.create({"name": STREAM, "subjects": ["orders.>"]})
        consumer = {"durable_name": CONSUMER, "ack_policy": "explicit", "max_ack_pending": MOST_HELD}
        await self.js.consumers.create(STREAM, consumer)
        self.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}, "data": {"etl.py": CODE}},
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "lake"}, "stringData": {"password": "hush"}},
        )

    def create(self, *manifests: Mapping[str, Any]) -> None:
        parts = {"apiVersion": "v1", "kind": "List", "items": manifests}
        self.namespace.kubectl("create", "--filename=-", stdin=json.dumps(parts))

    def start(self, name: str, **spec: Any) -> None:  # noqa: ANN401 - fields of a QueueGroup
        """Create a pod of the group's."""
        namespace = self.namespace.name
        handler = {"entrypoint": "etl:process", "configMapRef": {"name": "code"}, "env": [SECRET]}
        reached = declared("Connection", "nats", CONNECTION, namespace)
        whole = {"consumerRef": {"name": CONSUMER}, "handler": handler, "batch": BATCH, **spec}
        of = understood(declared("QueueGroup", GROUP, whole, namespace))
        pod = pod_of(made(of, reached, Equipment(worker_image=self.image, pull_policy=PULL_POLICY)))
        self.create({**pod, "metadata": {**pod["metadata"], "name": name}})

    def allow_executors(self) -> None:
        """Have a service account that may make pods."""
        rbac = "rbac.authorization.k8s.io"
        named = {"name": SERVICE_ACCOUNT}
        self.create(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": named},
            {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": named, "rules": RIGHTS},
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "RoleBinding",
                "metadata": named,
                "roleRef": {"apiGroup": rbac, "kind": "Role", **named},
                "subjects": [{"kind": "ServiceAccount", "namespace": self.namespace.name, **named}],
            },
        )

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

        await eventually_async(is_committed, f"sequence {sequence} is committed", SECONDS)

    async def until_status(self, name: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait for a worker's status that meets the condition."""
        subject = subject_of(f"{self.namespace.name}/{GROUP}", "status", worker=name)

        async def status() -> dict[str, Any] | None:
            answer = await self.js.connection.request(subject, timeout_seconds=SECONDS)
            found: dict[str, Any] = json.loads(answer.payload)
            return found if condition(found) else None

        return await eventually_async(status, f"the status of {name}", SECONDS, not_yet=(NoRespondersError,))

    def logs(self, name: str) -> str:
        """Return what a worker's processes have said so far."""
        said = []
        for container in ("engine", "driver"):
            try:
                said.append(self.namespace.kubectl("logs", name, f"--container={container}", "--tail=-1"))
            except KubectlError as problem:
                said.append(str(problem))
        return "\n".join(said)

    def pods(self) -> list[str]:
        selector = f"--selector=penstock.dev/queue-group={GROUP}"
        return self.namespace.kubectl("get", "pods", selector, "--output=name").split()

    def executors(self) -> list[str]:
        selector = f"--selector={EXECUTORS_OF}={GROUP}"
        return self.namespace.kubectl("get", "pods", selector, "--output=name").split()
