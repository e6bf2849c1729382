"""NACK's manifests, translated: the API server accepts them, and they declare what NACK's controller makes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock_jetstream import Connection, JetStream
from penstock_jetstream.config import CONSUMER, STREAM, Facts, diff
from penstock_operator.cli.importing import documents_of
from penstock_operator.plan.importing import CommandLine, Imports, from_nack
from penstock_operator.resources import KINDS, ConsumerSpec, StreamSpec
from penstock_operator.resources.translation import consumer_config, stream_config
from tests.operator.cli.commands import ask, penstock
from tests.testbed import binaries, ports, run
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.client import Object
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.nats.server import NatsServer
from tests.testbed.programs import Program
from tests.testbed.waiting import eventually

ZOO = Path(__file__).parent / "nack" / "zoo.yaml"
NACK_KINDS = ("streams.jetstream.nats.io", "consumers.jetstream.nats.io")
FOLDERS = ("deploy/examples", "examples/secure/nack", "tests/stream-creation")
ENDS = ("is not NACK's; it is left out.", "stands there more than once: what the last says is taken.")


@dataclass(frozen=True)
class Nack:
    told: CommandLine
    program: Program


@pytest.fixture
def nack_namespace(own_control_plane: ControlPlane) -> Namespace:
    """A control plane without our kinds, as NACK's have the same names."""
    return Namespace.create(own_control_plane, "nack")


@pytest.fixture(params=["control-loop", "older-mode"])
def nack(request: pytest.FixtureRequest, nack_namespace: Namespace, nats_server: NatsServer) -> Iterator[Nack]:
    """NACK's controller, once it has made all objects of the zoo."""
    told = CommandLine(servers=(nats_server.url,), control_loop=request.param == "control-loop")
    crds = list(yaml.safe_load_all((binaries.nack_sources() / "deploy" / "crds.yml").read_text()))
    nack_namespace.client.apply(*crds)
    eventually(lambda: all_have(nack_namespace.client.list("crds"), "Established"), "NACK's kinds are established")
    command: list[str | Path] = [binaries.nack(), "-s", nats_server.url, f"--namespace={nack_namespace.name}"]
    if told.control_loop:
        command += ["--control-loop", f"--health-probe-bind-address={ports.LOOPBACK}:{ports.free_port()}"]
    environment = {"KUBECONFIG": str(nack_namespace.kubeconfig)}
    program = Program("nack", command, run.current().new_folder("nack"), environment)
    program.start()
    nack_namespace.client.apply(*yaml.safe_load_all(ZOO.read_text()))
    eventually(lambda: all_have(nack_namespace.client.list(*NACK_KINDS), "Ready"), "NACK has made all objects", 120)
    yield Nack(told, program)
    program.stop()


def all_have(objects: Sequence[Object], condition: str) -> bool:
    conditions = [found.get("status", {}).get("conditions") or () for found in objects]
    return all(any((each["type"], each["status"]) == (condition, "True") for each in some) for some in conditions)


@pytest.mark.full
async def test_nack_makes_what_our_translation_declares(nack: Nack, nats_server: NatsServer) -> None:
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
    accepted_and_ignored = {} if nack.told.control_loop else {"EVERYTHING": ["consumer_limits"]}
    assert {name: found for name, found in different.items() if found} == accepted_and_ignored


async def stream_differences(js: JetStream, spec: dict[str, Any]) -> list[str]:
    desired = stream_config(StreamSpec.model_validate(spec), "")
    found = diff(STREAM, desired, (await js.streams.info(spec["name"])).config, Facts())
    return [difference.field for difference in found]


async def consumer_differences(js: JetStream, stream: str, spec: dict[str, Any]) -> list[str]:
    desired = consumer_config(ConsumerSpec.model_validate(spec), "")
    facts = Facts(stream=(await js.streams.info(stream)).config)
    found = diff(CONSUMER, desired, (await js.consumers.info(stream, spec["name"])).config, facts)
    return [difference.field for difference in found]


@pytest.mark.full
@pytest.mark.parametrize("nack", ["control-loop"], indirect=True)
def test_migrating_from_nack_to_penstock_leaves_the_server_as_it_is(
    nack: Nack, nack_namespace: Namespace, nats_server: NatsServer, tmp_path: Path
) -> None:
    before = ask(nats_server.url, configurations)
    nacks, ours = tmp_path / "nacks.yaml", tmp_path / "ours.yaml"
    nacks.write_text(nack_namespace.kubectl("get", ",".join(NACK_KINDS), "--output=yaml"))
    nack.program.stop()
    ours.write_text(penstock("import", "nack", "-f", nacks, "--control-loop", "--server", nats_server.url).stdout)
    planned = penstock("plan", "-f", ours, "--detailed-exitcode")
    assert planned.exit_code == 0, planned.output
    nack_namespace.client.begin_deletion_of_all(*NACK_KINDS)
    for kind in NACK_KINDS:
        for each in nack_namespace.client.list(kind):
            nack_namespace.client.patch(f"{kind}/{each['metadata']['name']}", {"metadata": {"finalizers": None}})
    assert nack_namespace.client.list(*NACK_KINDS) == []
    assert ask(nats_server.url, configurations) == before


async def configurations(js: JetStream) -> dict[str, Any]:
    streams = {str(info.config["name"]): info.config async for info in js.streams.list()}
    return {name: (config, [info.config async for info in js.consumers.list(name)]) for name, config in streams.items()}


def imported(path: Path) -> Imports:
    documents = [document.content for document in documents_of(str(path))]
    return from_nack(documents, CommandLine(servers=("nats://nats:4222",)))


def assert_accepted(imports: Imports, namespace: Namespace) -> None:
    kinds = {kind.name: kind for kind in KINDS}
    assert imports.objects
    for each in imports.objects:
        kinds[str(each.manifest["kind"])].spec.model_validate(each.manifest["spec"])
        assert not [remark for remark in each.remarks if "refuses" in remark]
        namespace.client.create(dict(each.manifest), dry_run=True)


def test_a_manifest_of_every_field_is_accepted(penstock_namespace: Namespace) -> None:
    assert_accepted(imported(ZOO), penstock_namespace)


@pytest.mark.full
def test_manifests_of_nacks_repository_are_accepted(penstock_namespace: Namespace, subtests: pytest.Subtests) -> None:
    sources, left_out = binaries.nack_sources(), list[str]()
    for folder in FOLDERS:
        with subtests.test(folder):
            imports = imported(sources / folder)
            assert_accepted(imports, penstock_namespace)
            left_out += imports.left_out
    assert left_out
    assert all(sentence.endswith(ENDS) for sentence in left_out)
