"""Status: the API server keeps every live fact that may be written, and kubectl shows the ones that people look for."""

import re
from typing import Any

import pytest
import yaml

from penstock_operator.resources import KINDS, fact_names
from tests.operator.resources.judging import manifest
from tests.operator.resources.test_rules import whole
from tests.testbed.kubernetes.access import Namespace

Json = dict[str, Any]
READY = {
    "type": "Ready",
    "status": "True",
    "reason": "InSync",
    "message": "All is as declared.",
    "lastTransitionTime": "2026-01-31T12:00:00.123456789Z",
    "observedGeneration": 1,
}
FACTS: dict[str, Json] = yaml.safe_load("""
Connection:
  {serverName: n1, serverVersion: 2.15.1, apiLevel: 5, cluster: east, domain: hub, account: SHOP, streams: 2,
   consumers: 3}
Stream:
  {streamName: ORDERS, createdAt: &noon "2026-01-31T12:00:00.123456789Z", messages: 7, bytes: 700, firstSequence: 1,
   lastSequence: 8, firstMessageTime: *noon, lastMessageTime: *noon, subjectsCount: 4, deletedMessages: 1, consumers: 2,
   leader: n1, cluster: east, replicas: 3, currentReplicas: 2, mirrorLag: 0}
Consumer:
  {streamName: ORDERS, consumerName: etl, createdAt: *noon, pending: 5, ackPending: 2, redelivered: 1, waiting: 4,
   deliveredSequence: 3, ackFloorSequence: 1, lastDeliveryTime: *noon, lastAckTime: *noon, pushBound: false,
   paused: true, pausedUntil: *noon, leader: n1, replicas: 3, currentReplicas: 3}
QueueGroup:
  {replicas: 5, selector: penstock.dev/queue-group=etl, readyReplicas: 3, desiredReplicas: 4, busyReplicas: 2,
   pending: 48210, ackPending: 900, held: 800, batches: 2, stoppedRevision: 0123456789abcdef, image: "example/etl:1.4",
   messageLoss: {expired: 7, firstExpiredSequence: 3, lastExpiredSequence: 9, limits: "maxMessages: 100", givenUp: 2,
     maxDeliver: 3, incarnation: once, server: A, takesAll: true, deliveredSequence: 9, deliveries: 2, pending: 1,
     lastSequence: 10, skipped: 7, knownGaps: 0}}
""")
SHOWN = {
    "Connection": {"SERVER": "n1", "VERSION": "2.15.1"},
    "Stream": {"STREAM": "ORDERS", "MESSAGES": "7"},
    "Consumer": {"STREAM": "ORDERS", "CONSUMER": "etl", "PENDING": "5", "ACK PENDING": "2"},
    "QueueGroup": {"LAG": "48210", "BUSY": "2", "WORKERS": "5", "DESIRED": "4"},
}


def test_live_facts_are_kept_as_written_and_kubectl_shows_the_main_ones(
    penstock_namespace: Namespace, subtests: pytest.Subtests
) -> None:
    for kind in KINDS:
        with subtests.test(kind.name):
            assert FACTS[kind.name].keys() == fact_names(kind.status)
            status = {"observedGeneration": 1, "conditions": [READY], **FACTS[kind.name]}
            penstock_namespace.client.create(manifest(kind, whole(kind, {})))
            kept = penstock_namespace.client.patch(f"{kind.resource}/one", {"status": status}, subresource="status")
            assert kept["status"] == status
            kind.status.read(kept["status"])
    tables = penstock_namespace.kubectl("get", "penstock").split("\n\n")
    for kind, table in zip(KINDS, sorted(tables, key=order_of_kind), strict=True):
        with subtests.test(f"kubectl get, {kind.name}"):
            heading, line = (re.split(r"\s{2,}", text.strip()) for text in table.strip().splitlines())
            assert (heading[:3], heading[-1]) == (["NAME", "READY", "REASON"], "AGE")
            assert line[1:3] == ["True", "InSync"]
            assert SHOWN[kind.name].items() <= dict(zip(heading, line, strict=True)).items()


def order_of_kind(table: str) -> int:
    """Return the place among all kinds of the one that a table of kubectl shows."""
    return next(number for number, kind in enumerate(KINDS) if f"\n{kind.name.lower()}.penstock.dev/" in table)
