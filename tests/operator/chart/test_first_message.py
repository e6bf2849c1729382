"""What `helm test` runs; the test answers in place of the worker. tests/cluster runs all of it."""

import asyncio
import base64
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import yaml
from nats.aio.msg import Msg

from penstock_operator.resources import KINDS
from tests.operator.chart.rendering import CHART, only, render_test
from tests.operator.running import running_operator
from tests.testbed import ports
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.client import Object
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.nats.client import connection
from tests.testbed.nats.server import NatsServer

pytestmark = pytest.mark.full
PROGRAM = CHART / "files" / "test" / "first_message.py"


async def run_test(namespace: Namespace, folder: Path, *values: str) -> tuple[int, str]:
    """Run the program of the test's pod as the chart's service account; return its exit code and output."""
    plane, objects = namespace.cluster, render_test(*values, namespace=namespace.name)
    plane.client.apply(*(each for each in objects if each["kind"] in {"ServiceAccount", "Role", "RoleBinding"}))
    account = only(objects, "ServiceAccount")["metadata"]["name"]
    document = yaml.safe_load(namespace.kubeconfig_for_service_account(account).read_text())
    (folder / "token").write_text(document["users"][0]["user"]["token"])
    authority = document["clusters"][0]["cluster"]["certificate-authority-data"]
    (folder / "ca.crt").write_bytes(base64.b64decode(authority))
    [container] = only(objects, "Pod")["spec"]["containers"]
    declared = {variable["name"]: variable.get("value", "127.0.0.1") for variable in container["env"]}
    host, _, port = plane.url.removeprefix("https://").rpartition(":")
    found = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "ACCOUNT": str(folder)}
    variables = {**os.environ, **declared, **found}
    started = await asyncio.create_subprocess_exec(
        sys.executable, PROGRAM, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    output, _ = await started.communicate()
    assert started.returncode is not None
    return started.returncode, output.decode()


@contextlib.asynccontextmanager
async def answering(server: NatsServer, make: Callable[[bytes], bytes]) -> AsyncIterator[None]:
    """Answer words in place of the job, while the block runs."""
    async with connection(servers=server.url) as client:

        async def answer(word: Msg) -> None:
            await client.publish(word.subject.replace(".words", ".answers"), make(word.data))

        await client.subscribe("penstock-test.*.words", cb=answer)
        await client.flush()
        yield


def left(namespace: Namespace) -> list[Object]:
    """Return the objects of the test that still exist."""
    kinds = ("configmaps", *(kind.resource for kind in KINDS))
    return list(namespace.client.list(*kinds, selector="app.kubernetes.io/part-of=penstock-test"))


async def test_only_a_word_in_capitals_passes_and_all_objects_are_deleted(
    penstock_namespace: Namespace, nats_server: NatsServer, tmp_path: Path
) -> None:
    url = f"--set=tests.nats.url={nats_server.url}"
    served = f"--namespace={penstock_namespace.name}"
    with running_operator(penstock_namespace.cluster.kubeconfig, served) as operator:
        operator.wait_ready()
        async with answering(nats_server, bytes.upper):
            code, output = await run_test(penstock_namespace, tmp_path, url)
        assert code == 0, output
        assert "Spark has answered: PENSTOCK" in output
        for kind in ("Connection", "Stream", "Consumer"):
            assert re.search(f"{kind} penstock-test-.* is ready", output), output
        assert left(penstock_namespace) == []
        async with connection(servers=nats_server.url) as client:
            streams = [str(each.config.name) for each in await client.jetstream().streams_info()]
            assert not [name for name in streams if name != "KV_penstock-ledger" and not name.endswith("-dead")]
        async with answering(nats_server, bytes.title):
            code, output = await run_test(penstock_namespace, tmp_path, url)
        assert code == 1
        assert "The answer is not what the job makes of b'penstock': b'Penstock'" in output


async def test_without_an_operator_it_fails_and_deletes_its_objects(
    penstock_namespace: Namespace, nats_server: NatsServer, tmp_path: Path
) -> None:
    values = (f"--set=tests.nats.url={nats_server.url}", "--set=tests.timeoutSeconds=10")
    code, output = await run_test(penstock_namespace, tmp_path, *values)
    assert code == 1
    assert "nobody has looked at it yet. Is the operator running, and does it serve this namespace?" in output
    assert "FAILED: It took more than 10 s until Connection" in output
    assert "All of it is taken away again." in output
    assert left(penstock_namespace) == []


async def test_an_unreachable_nats_server_is_named(penstock_namespace: Namespace, tmp_path: Path) -> None:
    url = f"nats://{ports.LOOPBACK}:{ports.free_port()}"
    code, output = await run_test(penstock_namespace, tmp_path, f"--set=tests.nats.url={url}")
    assert code == 1
    assert f"FAILED: The NATS server at {url} cannot be reached from this pod" in output


async def test_missing_definitions_are_named(own_control_plane: ControlPlane, tmp_path: Path) -> None:
    code, output = await run_test(Namespace(own_control_plane, "default"), tmp_path)
    assert code == 1
    assert "The cluster does not know" in output


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
            [container] = only(objects, "Pod")["spec"]["containers"]
            declared = {variable["name"]: variable.get("value") for variable in container["env"]}
            role, binding = only(objects, "Role"), only(objects, "RoleBinding")
            namespaces = {declared["NAMESPACE"], role["metadata"]["namespace"], binding["metadata"]["namespace"]}
            assert namespaces == {where}
            assert {only(objects, "Pod")["metadata"]["namespace"], binding["subjects"][0]["namespace"]} == {"release"}


def test_its_pod_has_a_nats_server_unless_values_name_one() -> None:
    [server] = only(render_test(), "Pod")["spec"]["initContainers"]
    assert server["restartPolicy"] == "Always", "otherwise the test would wait for its end"
    assert "initContainers" not in only(render_test("--set=tests.nats.url=nats://nats.nats:4222"), "Pod")["spec"]
    assert render_test("--set=tests.enabled=false") == []


def test_its_pod_meets_the_restricted_standard_and_is_not_taken_for_an_operator(namespace: Namespace) -> None:
    namespace.client.label(f"namespace/{namespace.name}", {"pod-security.kubernetes.io/enforce": "restricted"})
    objects = render_test(namespace=namespace.name)
    namespace.client.apply(*(each for each in objects if each["kind"] in {"ServiceAccount", "ConfigMap", "Pod"}))
    assert only(objects, "Pod")["metadata"]["labels"]["app.kubernetes.io/name"] == "penstock-test"
