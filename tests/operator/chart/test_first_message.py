"""What `helm test` runs, run here: as the account that the chart makes for it, beside an operator and a NATS server.

No pod runs on a control plane alone, so that the test itself is the worker: tests/cluster has the whole.
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

PROGRAM = CHART / "files" / "test" / "first_message.py"


def pod(objects: list[Object]) -> Object:
    [found] = of_kind(objects, "Pod")
    return found


def account_folder(plane: Access, objects: list[Object], folder: Path) -> Path:
    """Make what the test's pod would have at the place where pods have their account."""
    kinds = ("ServiceAccount", "Role", "RoleBinding")
    apply(plane, [found for found in objects if found["kind"] in kinds])
    [account] = of_kind(objects, "ServiceAccount")
    metadata = account["metadata"]
    kubeconfig = plane.kubeconfig_for_service_account(metadata["namespace"], metadata["name"])
    told = yaml.safe_load(kubeconfig.read_text())
    (folder / "token").write_text(told["users"][0]["user"]["token"])
    authority = told["clusters"][0]["cluster"]["certificate-authority-data"]
    (folder / "ca.crt").write_bytes(base64.b64decode(authority))
    return folder


def environment(plane: Access, objects: list[Object], folder: Path) -> dict[str, str]:
    """Return the variables that the test's pod would have."""
    [container] = pod(objects)["spec"]["containers"]
    told = {variable["name"]: variable.get("value", "127.0.0.1") for variable in container["env"]}
    host, _, port = plane.url.removeprefix("https://").rpartition(":")
    found = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    return {**os.environ, **told, **found, "ACCOUNT": str(account_folder(plane, objects, folder))}


async def run(variables: Mapping[str, str]) -> tuple[int, str]:
    started = await asyncio.create_subprocess_exec(
        sys.executable, PROGRAM, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said, _ = await started.communicate()
    assert started.returncode is not None
    return started.returncode, said.decode()


@contextlib.asynccontextmanager
async def capitals(server: NatsServer, make: Callable[[bytes], bytes] = bytes.upper) -> AsyncIterator[None]:
    """Answer words as the job would, for as long as the block runs."""
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


def left(plane: Access, namespace: str) -> str:
    """Return what there still is of all that a test declares."""
    chosen = "--selector=app.kubernetes.io/part-of=penstock-test"
    where = f"--namespace={namespace}"
    kinds = ",".join(("configmaps", *(kind.resource for kind in KINDS)))
    return plane.kubectl("get", kinds, chosen, where, "--output=name")


async def test_a_word_comes_back_in_capitals_and_nothing_is_left(
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
        assert left(plane, name) == ""
    async with await nats.connect(nats_server.url) as connection:
        assert [each.config.name for each in await connection.jetstream().streams_info()] == []


async def test_another_answer_is_not_taken_for_the_right_one(
    penstock_namespace: Namespace, nats_server: NatsServer, tmp_path: Path
) -> None:
    plane, name = penstock_namespace.cluster, penstock_namespace.name
    objects = render_test(f"--set=tests.nats.url={nats_server.url}", namespace=name)
    with operating(plane, name):
        async with capitals(nats_server, bytes.title):
            code, said = await run(environment(plane, objects, tmp_path))
    assert code == 1
    assert "The answer is not what the job makes of b'penstock': b'Penstock'" in said


async def test_without_an_operator_it_says_so_and_takes_away_what_it_has_made(
    penstock_namespace: Namespace, nats_server: NatsServer, tmp_path: Path
) -> None:
    plane, name = penstock_namespace.cluster, penstock_namespace.name
    values = (f"--set=tests.nats.url={nats_server.url}", "--set=tests.timeoutSeconds=10")
    code, said = await run(environment(plane, render_test(*values, namespace=name), tmp_path))
    assert code == 1
    assert "nobody has looked at it yet. Is the operator running, and does it serve this namespace?" in said
    assert "FAILED: It took more than 10 s until Connection" in said
    assert "All of it is taken away again." in said
    assert left(plane, name) == ""


async def test_a_server_that_is_not_there_is_named(penstock_namespace: Namespace, tmp_path: Path) -> None:
    url = f"nats://{ports.LOOPBACK}:{ports.free_port()}"
    objects = render_test(f"--set=tests.nats.url={url}", namespace=penstock_namespace.name)
    code, said = await run(environment(penstock_namespace.cluster, objects, tmp_path))
    assert code == 1
    assert f"FAILED: The NATS server at {url} cannot be reached from this pod" in said


async def test_kinds_that_the_cluster_does_not_know_are_named(own_control_plane: ControlPlane, tmp_path: Path) -> None:
    code, said = await run(environment(own_control_plane, render_test(), tmp_path))
    assert code == 1
    assert "The cluster does not know" in said


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ((), "release"),
        (("--set=namespaces={orders,release}",), "release"),
        (("--set=namespaces={orders,bills}",), "orders"),
        (("--set=namespaces={orders,bills}", "--set=tests.namespace=bills"), "bills"),
    ],
)
def test_it_declares_where_the_operator_serves(values: tuple[str, ...], where: str) -> None:
    objects = render_test(*values, namespace="release")
    told = {variable["name"]: variable.get("value") for variable in pod(objects)["spec"]["containers"][0]["env"]}
    [role], [binding] = of_kind(objects, "Role"), of_kind(objects, "RoleBinding")
    assert {told["NAMESPACE"], role["metadata"]["namespace"], binding["metadata"]["namespace"]} == {where}
    assert {pod(objects)["metadata"]["namespace"], binding["subjects"][0]["namespace"]} == {"release"}


def test_it_brings_a_server_unless_it_is_told_of_one() -> None:
    [server] = pod(render_test())["spec"]["initContainers"]
    assert server["restartPolicy"] == "Always", "else the test would wait for its end"
    assert "initContainers" not in pod(render_test("--set=tests.nats.url=nats://nats.nats:4222"))["spec"]


def test_its_pod_meets_the_restricted_standard(namespace: Namespace) -> None:
    namespace.kubectl("label", "namespace", namespace.name, "pod-security.kubernetes.io/enforce=restricted")
    objects = render_test(namespace=namespace.name)
    found = [each for each in objects if each["kind"] in {"ServiceAccount", "ConfigMap", "Pod"}]
    apply(namespace.cluster, found, "--validate=strict")


def test_nobody_takes_its_pod_for_an_operator() -> None:
    assert pod(render_test())["metadata"]["labels"]["app.kubernetes.io/name"] == "penstock-test"


def test_there_is_none_where_it_is_not_wanted() -> None:
    assert render_test("--set=tests.enabled=false") == []
