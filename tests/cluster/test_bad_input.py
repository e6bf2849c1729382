"""What cannot work in a cluster is said in a sentence that a stranger understands, while others go on."""

import json

import pytest

from tests.cluster import faulty
from tests.cluster.faulty import driver, handler
from tests.cluster.orders import publish_texts
from tests.cluster.stage import Stage, kubectl, message, reason, status, until
from tests.testbed.kubernetes.access import Namespace
from tools.console import say

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # the first test of a run starts the node, and loads images

NO_PODS = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "no-pods"},
    "spec": {"hard": {"pods": "0"}},
}
FAULTS = {
    "import": ("CodeFailed", "No module named 'pandas_of_another_name'"),
    "image": ("ImageNotPulled", "A node cannot get the image registry.invalid/etl:1 of the driver"),
    "standalone": ("SparkFailed", "No Spark master is reached at nobody:7077"),
    "connect": ("SparkFailed", "No Spark Connect server is reached at 127.0.0.1:15002"),
    "push": ("Invalid", "push"),
    "privileged": ("TemplateRefused", "privileged"),
}
"""The reason, and what the sentence has in it."""


def apply(namespace: Namespace, manifests: list[faulty.Json]) -> None:
    whole = {"apiVersion": "v1", "kind": "List", "items": manifests}
    namespace.kubectl("apply", "--filename=-", stdin=json.dumps(whole))


def test_what_cannot_work_is_said_in_a_sentence_and_others_go_on(stage: Stage) -> None:
    with stage.namespace("faulty") as namespace, stage.namespace("poor") as poor:
        declare_all(namespace, poor)
        see_what_is_said(stage, namespace, poor)


def declare_all(namespace: Namespace, poor: Namespace) -> None:
    apply(
        namespace,
        [
            *faulty.ground("faults"),
            *faulty.group("import", **handler(configMapRef={"name": "bad"})),
            *faulty.group("image", **handler(image="registry.invalid/etl:1")),
            *faulty.group("standalone", spark={"master": "spark://nobody:7077"}),
            *faulty.group("connect", spark={"master": "sc://127.0.0.1:15002"}),
            *faulty.group("push", consumer={"deliverSubject": "elsewhere"}),
            *faulty.group("privileged", template=driver(securityContext={"privileged": True})),
            *faulty.group("well"),
        ],
    )
    apply(poor, [NO_PODS, *faulty.ground("poor"), *faulty.group("quota")])


def see_what_is_said(stage: Stage, namespace: Namespace, poor: Namespace) -> None:
    for name, (word, _) in FAULTS.items():
        until(lambda name=name, word=word: reason(namespace, name) == word, f"{name} is {word}", namespace)  # type: ignore[misc]
    until(lambda: reason(poor, "quota") == "PodsRefused", "the quota is told", poor)
    publish_texts(stage.nats, "faults.well", 100)
    until(lambda: reason(namespace, "well") == "Working", "who can work does", namespace)
    until(lambda: status(namespace, "well", "pending") == "0", "it has done its work", namespace)
    kubectl(namespace, "get", "queuegroups,pods")
    told = {name: message(namespace, name) for name in FAULTS} | {"quota": message(poor, "quota")}
    for name, sentence in told.items():
        say(f"{name:<12} {reason(namespace if name in FAULTS else poor, name):<16} {sentence}")
    for name, (_, part) in FAULTS.items():
        assert part in told[name]
    assert "exceeded quota: no-pods" in told["quota"]
    assert reason(namespace, "well") == "Working"
