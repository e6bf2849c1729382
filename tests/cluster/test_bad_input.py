"""Queue groups that cannot work report why, in words that need no knowledge of Penstock, and others keep working."""

from typing import Any

import pytest

from tests.cluster.objects import Json, config_map, manifest
from tests.cluster.orders import publish_texts
from tests.cluster.stage import Stage, kubectl, reason, status, until
from tests.testbed.kubernetes.access import Namespace
from tools.console import say

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # the first test of a run starts the node, and loads images

NO_PODS = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "no-pods"},
    "spec": {"hard": {"pods": "0"}},
}
GOOD = "def process(df, batch):\n    df.count()\n"
BAD = f"import pandas_of_another_name\n\n\n{GOOD}"
DRIVER: Json = {"name": "driver", "resources": {"requests": {"cpu": "50m"}}}
SMALL: Json = {
    "initContainers": [{"name": "engine", "resources": {"requests": {"cpu": "10m"}}}],
    "containers": [DRIVER],
}
"""So that a small node takes all of them at once."""
FAULTS = {
    "import": ("CodeFailed", "No module named 'pandas_of_another_name'"),
    "image": ("ImageNotPulled", "A node cannot get the image registry.invalid/etl:1 of the driver"),
    "standalone": ("SparkFailed", "No Spark master is reached at nobody:7077"),
    "connect": ("SparkFailed", "No Spark Connect server is reached at 127.0.0.1:15002"),
    "push": ("Invalid", "push"),
    "privileged": ("TemplateRefused", "privileged"),
}
"""The reason, and a part of the message."""


def prerequisites(stream: str) -> list[Json]:
    """Return what all groups of a namespace share: a stream of this name, and code."""
    stored = {"connectionRef": {"name": "nats"}, "name": stream, "subjects": [f"{stream}.>"]}
    return [
        manifest("Connection", "nats", {"servers": ["nats://nats.nats:4222"]}),
        manifest("Stream", "stream", stored),
        config_map("good", {"job.py": GOOD}),
        config_map("bad", {"job.py": BAD}),
    ]


def group(name: str, *, consumer: Json | None = None, template: Json = SMALL, **spec: Any) -> list[Json]:  # noqa: ANN401
    """Return a group with a consumer of its own, and at least one worker."""
    pull = {"filterSubjects": [f"*.{name}"], "ackPolicy": "Explicit", "ackWait": "60s"}
    whole: Json = {
        "consumerRef": {"name": name},
        "handler": handler(configMapRef={"name": "good"}),
        "scaling": {"minReplicas": 1, "maxReplicas": 1},
        "template": {"spec": template},
        **spec,
    }
    return [
        manifest("Consumer", name, {"streamRef": {"name": "stream"}, "name": name, **pull, **(consumer or {})}),
        manifest("QueueGroup", name, whole),
    ]


def handler(**fields: Any) -> Json:  # noqa: ANN401
    return {"entrypoint": "job:process", **fields}


def test_group_that_cannot_work_reports_why_and_others_keep_working(stage: Stage) -> None:
    with stage.namespace("faulty") as namespace, stage.namespace("poor") as poor:
        declare_all(namespace, poor)
        check_reports(stage, namespace, poor)


def declare_all(namespace: Namespace, poor: Namespace) -> None:
    privileged = {**SMALL, "containers": [{**DRIVER, "securityContext": {"privileged": True}}]}
    namespace.client.create(
        *prerequisites("faults"),
        *group("import", handler=handler(configMapRef={"name": "bad"})),
        *group("image", handler=handler(image="registry.invalid/etl:1")),
        *group("standalone", spark={"master": "spark://nobody:7077"}),
        *group("connect", spark={"master": "sc://127.0.0.1:15002"}),
        *group("push", consumer={"deliverSubject": "elsewhere"}),
        *group("privileged", template=privileged),
        *group("well"),
    )
    poor.client.create(NO_PODS, *prerequisites("poor"), *group("quota"))


def check_reports(stage: Stage, namespace: Namespace, poor: Namespace) -> None:
    for name, (word, _) in FAULTS.items():
        until(lambda name=name, word=word: reason(namespace, name) == word, f"{name} is {word}", namespace)  # type: ignore[misc]
    until(lambda: reason(poor, "quota") == "PodsRefused", "the quota is reported", poor)
    publish_texts(stage.nats, "faults.well", 100)
    until(lambda: reason(namespace, "well") == "Working", "the group without a fault works", namespace)
    until(lambda: status(namespace, "well", "pending") == "0", "it has done its work", namespace)
    kubectl(namespace, "get", "queuegroups,pods")
    expected = {name: (namespace, part) for name, (_, part) in FAULTS.items()}
    for name, (where, part) in {**expected, "quota": (poor, "exceeded quota: no-pods")}.items():
        message = status(where, name, 'conditions[?(@.type=="Ready")].message')
        say(f"{name:<12} {reason(where, name):<16} {message}")
        assert part in message
    assert reason(namespace, "well") == "Working"
