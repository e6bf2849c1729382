"""Status: the API server keeps every live fact that may be written, and kubectl shows the ones that people look for."""

import json
from typing import Any

import pytest

from penstock_operator.resources import KINDS, Kind, fact_names
from tests.operator.resources.judging import manifest
from tests.testbed.kubernetes.access import Namespace

Json = dict[str, Any]
NOON = "2026-01-31T12:00:00.123456789Z"
READY = {
    "type": "Ready",
    "status": "True",
    "reason": "InSync",
    "message": "All is as declared.",
    "lastTransitionTime": NOON,
    "observedGeneration": 1,
}
SPECS: dict[str, Json] = {
    "Connection": {"servers": ["nats://nats:4222"]},
    "Stream": {"connectionRef": {"name": "nats"}, "subjects": ["orders.>"]},
    "Consumer": {"streamRef": {"name": "orders"}},
    "QueueGroup": {
        "consumerRef": {"name": "etl"},
        "handler": {"entrypoint": "etl:process", "configMapRef": {"name": "code"}},
    },
}
FACTS: dict[str, Json] = {
    "Connection": {
        "serverName": "n1",
        "serverVersion": "2.15.1",
        "apiLevel": 5,
        "cluster": "east",
        "domain": "hub",
        "account": "SHOP",
        "streams": 2,
        "consumers": 3,
    },
    "Stream": {
        "streamName": "ORDERS",
        "messages": 7,
        "bytes": 700,
        "firstSequence": 1,
        "lastSequence": 8,
        "firstMessageTime": NOON,
        "lastMessageTime": NOON,
        "subjectsCount": 4,
        "deletedMessages": 1,
        "consumers": 2,
        "leader": "n1",
        "cluster": "east",
        "replicas": 3,
        "currentReplicas": 2,
        "mirrorLag": 0,
        "createdAt": NOON,
    },
    "Consumer": {
        "streamName": "ORDERS",
        "consumerName": "etl",
        "pending": 5,
        "ackPending": 2,
        "redelivered": 1,
        "waiting": 4,
        "deliveredSequence": 3,
        "ackFloorSequence": 1,
        "lastDeliveryTime": NOON,
        "lastAckTime": NOON,
        "pushBound": False,
        "paused": True,
        "pausedUntil": NOON,
        "leader": "n1",
        "replicas": 3,
        "currentReplicas": 3,
        "createdAt": NOON,
    },
    "QueueGroup": {
        "replicas": 5,
        "selector": "penstock.dev/queue-group=etl",
        "readyReplicas": 3,
        "desiredReplicas": 4,
        "busyReplicas": 2,
        "pending": 48210,
        "ackPending": 900,
        "held": 800,
        "batches": 2,
        "stoppedRevision": "0123456789abcdef",
        "image": "example/etl:1.4",
    },
}
SHOWN = {
    "Connection": ["READY True", "REASON InSync", "SERVER n1", "VERSION 2.15.1"],
    "Stream": ["READY True", "REASON InSync", "STREAM ORDERS", "MESSAGES 7"],
    "Consumer": ["READY True", "REASON InSync", "STREAM ORDERS", "CONSUMER etl", "PENDING 5", "ACK-PENDING 2"],
    "QueueGroup": ["READY True", "REASON InSync", "LAG 48210", "BUSY 2", "WORKERS 5", "DESIRED 4"],
}
with_facts = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.name in FACTS], ids=lambda kind: kind.name)


@with_facts
def test_every_live_fact_is_kept_as_it_is_written_and_kubectl_shows_the_main_ones(
    penstock_namespace: Namespace, kind: Kind
) -> None:
    status = {"observedGeneration": 1, "conditions": [READY], **FACTS[kind.name]}
    penstock_namespace.kubectl("create", "--filename=-", stdin=manifest(kind, SPECS[kind.name]))
    patch = f"--patch={json.dumps({'status': status})}"
    penstock_namespace.kubectl("patch", f"{kind.resource}/one", "--subresource=status", "--type=merge", patch)
    kept = json.loads(penstock_namespace.kubectl("get", f"{kind.resource}/one", "--output=json"))["status"]
    assert kept == status
    kind.status.read(kept)
    heading, line = (
        penstock_namespace.kubectl("get", kind.short_names[0]).replace("ACK PENDING", "ACK-PENDING").splitlines()
    )
    shown = dict(zip(heading.split(), line.split(), strict=True))
    assert {name: shown[name] for name in (pair.split()[0] for pair in SHOWN[kind.name])} == dict(
        pair.split() for pair in SHOWN[kind.name]
    )


@with_facts
def test_the_example_has_every_live_fact(kind: Kind) -> None:
    assert FACTS[kind.name].keys() == fact_names(kind.status)
