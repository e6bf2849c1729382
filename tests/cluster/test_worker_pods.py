"""A worker in a pod: it works, to delete it disturbs no batch, and its executors are pods that go with it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import pytest

from penstock_jetstream import Connection, JetStream
from tests.cluster.nats_pods import forwarded, start_nats
from tests.cluster.worker_pods import SECONDS, SERVICE_ACCOUNT, WorkerPods
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.waiting import eventually
from tools.console import say

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # the first test of a run starts the node

RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"
MANY = 1000
PATIENT = {"maxWait": "5m"}
"""While a batch runs, what comes is collected for the other place that there is."""


@pytest.fixture
async def workers(worker_image: str, nats_image: str, cluster_namespace: Namespace) -> AsyncIterator[WorkerPods]:
    """A namespace with a NATS server, in which all pods from now on have to be restricted."""
    del nats_image
    start_nats(cluster_namespace)
    cluster_namespace.kubectl("label", "namespace", cluster_namespace.name, RESTRICTED)
    with forwarded(cluster_namespace) as url:
        async with Connection(url) as connection:
            pods = WorkerPods(cluster_namespace, worker_image, JetStream(connection))
            await pods.prepare()
            yield pods


async def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that kubectl is asked for: it blocks."""
    await asyncio.to_thread(eventually, condition, what, SECONDS)


async def test_a_pod_that_is_deleted_finishes_its_batch_and_gives_back_the_rest_at_once(workers: WorkerPods) -> None:
    await workers.publish(*["order"] * MANY)
    began = time.monotonic()
    workers.start("one", batch=PATIENT)
    try:
        await workers.until_committed(1)
    except TimeoutError:
        pytest.fail(workers.logs("one"))
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
    try:
        await workers.until_committed(MANY)
    except TimeoutError:
        pytest.fail(workers.logs("one"))
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
