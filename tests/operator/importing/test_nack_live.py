"""What NACK's controller makes of its manifests is what our translation of them says: nothing would be changed."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock_jetstream import Connection, JetStream
from penstock_jetstream.config import CONSUMER, STREAM, Facts, diff
from penstock_operator.cli.importing import documents_of
from penstock_operator.plan.importing import CommandLine, from_nack
from penstock_operator.resources import ConsumerSpec, StreamSpec
from penstock_operator.resources.translation import consumer_config, stream_config
from tests.operator.cli.commands import penstock
from tests.testbed import binaries, ports, run
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.nats.server import NatsServer
from tests.testbed.programs import Program

ZOO = Path(__file__).parent / "nack" / "zoo.yaml"
KINDS = ("streams.jetstream.nats.io", "consumers.jetstream.nats.io")
READY = "--for=condition=Ready"


@dataclass(frozen=True)
class Nack:
    told: CommandLine
    program: Program


@pytest.fixture
def namespace(own_control_plane: ControlPlane) -> Namespace:
    """A namespace where nobody else is: NACK's kinds have the names of ours, and kubectl would mix them up."""
    own_control_plane.kubectl("create", "namespace", "nack")
    return Namespace(own_control_plane, "nack")


@pytest.fixture(params=["control-loop", "older-mode"])
def nack(request: pytest.FixtureRequest, namespace: Namespace, nats_server: NatsServer) -> Iterator[Nack]:
    """NACK's controller at work in the namespace, having made all of the zoo."""
    told = CommandLine(servers=(nats_server.url,), control_loop=request.param == "control-loop")
    install_nacks_crds(namespace)
    command: list[str | Path] = [binaries.nack(), "-s", nats_server.url, f"--namespace={namespace.name}"]
    if told.control_loop:
        command += ["--control-loop", f"--health-probe-bind-address={ports.LOOPBACK}:{ports.free_port()}"]
    environment = {"KUBECONFIG": str(namespace.kubeconfig)}
    program = Program("nack", command, run.current().new_folder("nack"), environment)
    program.start()
    namespace.kubectl("apply", "--filename", str(ZOO))
    for kind in KINDS:
        namespace.kubectl("wait", READY, kind, "--all", "--timeout=120s")
    yield Nack(told, program)
    program.stop()


def install_nacks_crds(namespace: Namespace) -> None:
    crds = str(binaries.nack_sources() / "deploy" / "crds.yml")
    namespace.cluster.kubectl("apply", "--server-side", "--filename", crds)
    namespace.cluster.kubectl("wait", "--for=condition=Established", "--filename", crds, "--timeout=120s")


async def test_what_nack_makes_is_what_our_translation_says(nack: Nack, nats_server: NatsServer) -> None:
    ours = from_nack([document.content for document in documents_of(str(ZOO))], nack.told).objects
    manifests = [each.manifest for each in ours]
    streams = {each["metadata"]["name"]: each["spec"] for each in manifests if each["kind"] == "Stream"}
    consumers = [each["spec"] for each in manifests if each["kind"] == "Consumer"]
    async with Connection(nats_server.url) as connection:
        js = JetStream(connection)
        different = {spec["name"]: await stream_differences(js, spec) for spec in streams.values()}
        for spec in consumers:
            stream = streams[spec["streamRef"]["name"]]["name"]
            different[f"{stream}/{spec['name']}"] = await consumer_differences(js, stream, spec)
    assert {name: found for name, found in different.items() if found} == ignored_by(nack.told)


def ignored_by(told: CommandLine) -> dict[str, list[str]]:
    """Return the fields that NACK knows and does not heed: in its older mode, what a stream demands of consumers."""
    return {} if told.control_loop else {"EVERYTHING": ["consumer_limits"]}


async def stream_differences(js: JetStream, spec: dict[str, Any]) -> list[str]:
    desired = stream_config(StreamSpec.model_validate(spec), "")
    found = diff(STREAM, desired, (await js.streams.info(spec["name"])).config, Facts())
    return [difference.field for difference in found]


async def consumer_differences(js: JetStream, stream: str, spec: dict[str, Any]) -> list[str]:
    desired = consumer_config(ConsumerSpec.model_validate(spec), "")
    facts = Facts(stream=(await js.streams.info(stream)).config)
    found = diff(CONSUMER, desired, (await js.consumers.info(stream, spec["name"])).config, facts)
    return [difference.field for difference in found]


@pytest.mark.parametrize("nack", ["control-loop"], indirect=True)
def test_the_way_from_nack_to_penstock_leaves_the_server_as_it_is(
    nack: Nack, namespace: Namespace, nats_server: NatsServer, tmp_path: Path
) -> None:
    before = asyncio.run(on_the_server(nats_server))
    nacks, ours = tmp_path / "nacks.yaml", tmp_path / "ours.yaml"
    nacks.write_text(namespace.kubectl("get", ",".join(KINDS), "--output=yaml"))
    nack.program.stop()
    ours.write_text(penstock("import", "nack", "-f", nacks, "--control-loop", "--server", nats_server.url).stdout)
    planned = penstock("plan", "-f", ours, "--detailed-exitcode")
    assert planned.exit_code == 0, planned.output
    delete_without_finalizers(namespace)
    assert asyncio.run(on_the_server(nats_server)) == before


def delete_without_finalizers(namespace: Namespace) -> None:
    for kind in KINDS:
        namespace.kubectl("delete", kind, "--all", "--wait=false")
        for name in namespace.kubectl("get", kind, "--output=name").split():
            namespace.kubectl("patch", name, "--type=merge", "--patch", json.dumps({"metadata": {"finalizers": None}}))
        assert namespace.kubectl("get", kind, "--output=name") == ""


async def on_the_server(server: NatsServer) -> dict[str, Any]:
    async with Connection(server.url) as connection:
        js = JetStream(connection)
        streams = {str(info.config["name"]): info.config async for info in js.streams.list()}
        return {
            name: (config, [info.config async for info in js.consumers.list(name)]) for name, config in streams.items()
        }
