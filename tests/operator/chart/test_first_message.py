"""What `helm test` runs, with the chart's service account, an operator and a NATS server.

A control plane alone runs no pods, so the test answers in place of the worker: tests/cluster runs all of it.
"""

import asyncio
import base64
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path

import nats
import pytest
import yaml
from nats.aio.msg import Msg

from penstock_operator.resources import KINDS
from tests.operator.chart.rendering import CHART, Object, apply, of_kind, render_test
from tests.operator.running import running_operator
from tests.testbed import ports
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.nats.server import NatsServer

pytestmark = pytest.mark.full
PROGRAM = CHART / "files" / "test" / "first_message.py"


def pod(objects: list[Object]) -> Object:
    [found] = of_kind(objects, "Pod")
    return found


def account_folder(plane: Access, objects: list[Object], folder: Path) -> Path:
    """Create the service account, and the files that its pod would have."""
    kinds = ("ServiceAccount", "Role", "RoleBinding")
    apply(plane, [found for found in objects if found["kind"] in kinds])
    [account] = of_kind(objects, "ServiceAccount")
    metadata = account["metadata"]
    kubeconfig = plane.kubeconfig_for_service_account(metadata["namespace"], metadata["name"])
    document = yaml.safe_load(kubeconfig.read_text())
    (folder / "token").write_text(document["users"][0]["user"]["token"])
    authority = document["clusters"][0]["cluster"]["certificate-authority-data"]
    (folder / "ca.crt").write_bytes(base64.b64decode(authority))
    return folder


def environment(plane: Access, objects: list[Object], folder: Path) -> dict[str, str]:
    """Return the environment that the test's pod would have."""
    [container] = pod(objects)["spec"]["containers"]
    declared = {variable["name"]: variable.get("value", "127.0.0.1") for variable in container["env"]}
    host, _, port = plane.url.removeprefix("https://").rpartition(":")
    found = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    return {**os.environ, **declared, **found, "ACCOUNT": str(account_folder(plane, objects, folder))}


async def run(variables: Mapping[str, str]) -> tuple[int, str]:
    started = await asyncio.create_subprocess_exec(
        sys.executable, PROGRAM, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said, _ = await started.communicate()
    assert started.returncode is not None
    return started.returncode, said.decode()


@contextlib.asynccontextmanager
async def capitals(server: NatsServer, make: Callable[[bytes], bytes] = bytes.upper) -> AsyncIterator[None]:
    """Answer words as the job would, while the block runs."""
    async with await nats.connect(server.url) as connection:

        async def answer(word: Msg) -> None:
            await connection.publish(word.subject.replace(".words", ".answers"), make(word.data))

        await connection.subscribe("penstock-test.*.words", cb=answer)
        await connection.flush()
        yield


@contextlib.contextmanager
def operating(plane: Access, namespace: str) -> Iterator[None]:
    with running_operator(plane.kubeconfig, f"--namespace={namespace}") as operator:
        operator.wait_ready()
        yield


def left(plane: Access, namespace: str) -> list[Object]:
    """Return the objects of the test that still exist."""
    client = Namespace(plane, namespace).client
    kinds = ("configmaps", *(kind.resource for kind in KINDS))
    return list(client.list(*kinds, selector="app.kubernetes.io/part-of=penstock-test"))


async def test_a_word_comes_back_in_capitals_and_all_objects_are_deleted(
    penstock_namespace: Namespace, nats_server: NatsServer, tmp_path: Path
) -> None:
    plane, name = penstock_namespace.cluster, penstock_namespace.name
    objects = render_test(f"--set=tests.nats.url={nats_server.url}", namespace=name)
    variables = environment(plane, objects, tmp_path)
    with operating(plane, name):
        async with capitals(nats_server):
            code, said = await run(variables)
        assert code == 0, said
        assert "Spark has answered: PENSTOCK" in said
        for kind in ("Connection", "Stream", "Consumer"):
            assert re.search(f"{kind} penstock-test-.* is ready", said), said
        assert left(plane, name) == []
    async with await nats.connect(nats_server.url) as connection:
        assert [each.config.name for each in await connection.jetstream().streams_info()] == []


async def test_a_wrong_answer_fails(penstock_namespace: Namespace, nats_server: NatsServer, tmp_path: Path) -> None:
    plane, name = penstock_namespace.cluster, penstock_namespace.name
    objects = render_test(f"--set=tests.nats.url={nats_server.url}", namespace=name)
    with operating(plane, name):
        async with capitals(nats_server, bytes.title):
            code, said = await run(environment(plane, objects, tmp_path))
    assert code == 1
    assert "The answer is not what the job makes of b'penstock': b'Penstock'" in said


async def test_without_an_operator_it_fails_and_deletes_its_objects(
    penstock_namespace: Namespace, nats_server: NatsServer, tmp_path: Path
) -> None:
    plane, name = penstock_namespace.cluster, penstock_namespace.name
    values = (f"--set=tests.nats.url={nats_server.url}", "--set=tests.timeoutSeconds=10")
    code, said = await run(environment(plane, render_test(*values, namespace=name), tmp_path))
    assert code == 1
    assert "nobody has looked at it yet. Is the operator running, and does it serve this namespace?" in said
    assert "FAILED: It took more than 10 s until Connection" in said
    assert "All of it is taken away again." in said
    assert left(plane, name) == []


async def test_an_unreachable_nats_server_is_named(penstock_namespace: Namespace, tmp_path: Path) -> None:
    url = f"nats://{ports.LOOPBACK}:{ports.free_port()}"
    objects = render_test(f"--set=tests.nats.url={url}", namespace=penstock_namespace.name)
    code, said = await run(environment(penstock_namespace.cluster, objects, tmp_path))
    assert code == 1
    assert f"FAILED: The NATS server at {url} cannot be reached from this pod" in said


async def test_missing_definitions_are_named(own_control_plane: ControlPlane, tmp_path: Path) -> None:
    code, said = await run(environment(own_control_plane, render_test(), tmp_path))
    assert code == 1
    assert "The cluster does not know" in said


def test_its_objects_are_in_a_namespace_that_the_operator_serves(subtests: pytest.Subtests) -> None:
    cases = {
        (): "release",
        ("--set=namespaces={orders,release}",): "release",
        ("--set=namespaces={orders,bills}",): "orders",
        ("--set=namespaces={orders,bills}", "--set=tests.namespace=bills"): "bills",
    }
    for values, where in cases.items():
        with subtests.test(" ".join(values)):
            objects = render_test(*values, namespace="release")
            [container] = pod(objects)["spec"]["containers"]
            declared = {variable["name"]: variable.get("value") for variable in container["env"]}
            [role], [binding] = of_kind(objects, "Role"), of_kind(objects, "RoleBinding")
            namespaces = {declared["NAMESPACE"], role["metadata"]["namespace"], binding["metadata"]["namespace"]}
            assert namespaces == {where}
            assert {pod(objects)["metadata"]["namespace"], binding["subjects"][0]["namespace"]} == {"release"}


def test_its_pod_has_a_nats_server_unless_values_name_one() -> None:
    [server] = pod(render_test())["spec"]["initContainers"]
    assert server["restartPolicy"] == "Always", "otherwise the test would wait for its end"
    assert "initContainers" not in pod(render_test("--set=tests.nats.url=nats://nats.nats:4222"))["spec"]
    assert render_test("--set=tests.enabled=false") == []


def test_its_pod_meets_the_restricted_standard_and_is_not_taken_for_an_operator(namespace: Namespace) -> None:
    namespace.client.label(f"namespace/{namespace.name}", {"pod-security.kubernetes.io/enforce": "restricted"})
    objects = render_test(namespace=namespace.name)
    apply(namespace.cluster, [each for each in objects if each["kind"] in {"ServiceAccount", "ConfigMap", "Pod"}])
    assert pod(objects)["metadata"]["labels"]["app.kubernetes.io/name"] == "penstock-test"
