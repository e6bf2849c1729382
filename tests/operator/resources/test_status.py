"""Status: the API server keeps every live fact that may be written, and kubectl shows the ones that people look for."""

import re
from typing import Any

import pytest

from penstock_operator.resources import KINDS, fact_names
from tests.operator.resources import connection_rows, consumer_rows, queue_group_rows, stream_rows
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
SPECS = {
    "Connection": connection_rows.ACCEPTED["the smallest"],
    "Stream": stream_rows.SMALLEST,
    "Consumer": consumer_rows.SMALLEST,
    "QueueGroup": queue_group_rows.SMALLEST,
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
    "Connection": {"READY": "True", "REASON": "InSync", "SERVER": "n1", "VERSION": "2.15.1"},
    "Stream": {"READY": "True", "REASON": "InSync", "STREAM": "ORDERS", "MESSAGES": "7"},
    "Consumer": {
        "READY": "True",
        "REASON": "InSync",
        "STREAM": "ORDERS",
        "CONSUMER": "etl",
        "PENDING": "5",
        "ACK PENDING": "2",
    },
    "QueueGroup": {"READY": "True", "REASON": "InSync", "LAG": "48210", "BUSY": "2", "WORKERS": "5", "DESIRED": "4"},
}


def test_live_facts_are_kept_as_written_and_kubectl_shows_the_main_ones(
    penstock_namespace: Namespace, subtests: pytest.Subtests
) -> None:
    for kind in KINDS:
        with subtests.test(kind.name):
            assert FACTS[kind.name].keys() == fact_names(kind.status)
            status = {"observedGeneration": 1, "conditions": [READY], **FACTS[kind.name]}
            penstock_namespace.client.create(manifest(kind, SPECS[kind.name]))
            kept = penstock_namespace.client.patch(f"{kind.resource}/one", {"status": status}, subresource="status")
            assert kept["status"] == status
            kind.status.read(kept["status"])
    tables = penstock_namespace.kubectl("get", "penstock").split("\n\n")
    for kind, table in zip(KINDS, sorted(tables, key=order_of_kind), strict=True):
        with subtests.test(f"kubectl get, {kind.name}"):
            heading, line = (re.split(r"\s{2,}", text.strip()) for text in table.strip().splitlines())
            assert (heading[:3], heading[-1]) == (["NAME", "READY", "REASON"], "AGE")
            assert SHOWN[kind.name].items() <= dict(zip(heading, line, strict=True)).items()


def order_of_kind(table: str) -> int:
    """Return the place among all kinds of the one that a table of kubectl shows."""
    return next(number for number, kind in enumerate(KINDS) if f"\n{kind.name.lower()}.penstock.dev/" in table)
