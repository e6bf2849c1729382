"""NACK as a contender: its controller with the control loop, which is the mode that reconciles."""

from pathlib import Path

from bench.reconciling.contender import Contender, Manifest, Where
from tests.testbed import binaries
from tests.testbed.ports import LOOPBACK


def _crds() -> str:
    return (binaries.nack_sources() / "deploy" / "crds.yml").read_text()


def _stream(name: str) -> Manifest:
    return {"name": name, "subjects": [f"{name}.>"], "storage": "file"}


def _consumer(name: str) -> Manifest:
    return {"streamName": name, "durableName": name, "ackPolicy": "explicit", "ackWait": "30s"}


def _command(where: Where) -> list[str | Path]:
    probes = f"--health-probe-bind-address={LOOPBACK}:{where.probes_port}"
    return [binaries.nack(), "--control-loop", "-s", where.nats_url, probes]


NACK = Contender(
    name="nack",
    title=f"NACK {binaries.NACK} --control-loop",
    group="jetstream.nats.io",
    version="v1beta2",
    crds=_crds,
    before=lambda _: [],
    stream=_stream,
    consumer=_consumer,
    command=_command,
)
