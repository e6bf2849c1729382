"""Penstock's operator as a contender."""

import sys
from pathlib import Path

from bench.reconciling.contender import NAMESPACE, Contender, Manifest, Where
from penstock_operator.constants import API_VERSION, GROUP, VERSION
from penstock_operator.resources import KINDS, to_yaml
from tests.testbed.ports import LOOPBACK

CONNECTION = "nats"


def _before(where: Where) -> list[Manifest]:
    metadata = {"name": CONNECTION, "namespace": NAMESPACE}
    spec = {"servers": [where.nats_url]}
    return [{"apiVersion": API_VERSION, "kind": "Connection", "metadata": metadata, "spec": spec}]


def _stream(name: str) -> Manifest:
    return {"connectionRef": {"name": CONNECTION}, "subjects": [f"{name}.>"], "storage": "File"}


def _consumer(name: str) -> Manifest:
    return {"streamRef": {"name": name}, "ackPolicy": "Explicit", "ackWait": "30s"}


def _command(where: Where) -> list[str | Path]:
    program = Path(sys.executable).with_name("penstock")
    return [program, "operator", "--probes", f"{LOOPBACK}:{where.probes_port}"]


PENSTOCK = Contender(
    name="penstock",
    title="penstock operator",
    group=GROUP,
    version=VERSION,
    crds=lambda: "---\n".join(to_yaml(kind) for kind in KINDS),
    before=_before,
    stream=_stream,
    consumer=_consumer,
    command=_command,
)
