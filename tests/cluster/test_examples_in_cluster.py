"""The other examples, unchanged: a table on a volume, a Spark Connect server, executors in pods."""

import json
import uuid
from collections.abc import Iterator

import pytest

from tests.cluster.orders import publish_texts, stored
from tests.cluster.pods import pods
from tests.cluster.stage import Stage, apply_example, kubectl, offer_volume, show, until, workers
from tests.testbed.kubernetes.access import Namespace

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # the first test of a run starts the node, and loads images

MESSAGES = 1_000


@pytest.fixture
def namespace(stage: Stage) -> Iterator[Namespace]:
    with stage.namespace(f"example-{uuid.uuid4().hex[:8]}") as namespace:
        yield namespace


def test_a_batch_is_processed_on_a_spark_connect_server(stage: Stage, namespace: Namespace) -> None:
    apply_example(namespace, "sales", "connect/totals.py")
    kubectl(namespace, "wait", "--for=condition=Ready", "stream.penstock.dev/sales", "--timeout=120s")
    sale = json.dumps({"id": 1, "region": "north", "amount": 2.5})
    publish_texts(stage.nats, "sales.north", MESSAGES, sale)
    until(lambda: stored(stage.nats, "TOTALS") > 0, "totals are published", namespace)
    show(namespace, "totals were computed on a Spark Connect server")


def test_purchases_are_joined_with_a_table_on_a_volume(stage: Stage, namespace: Namespace) -> None:
    offer_volume(stage.node, namespace.name, "customers")
    apply_example(namespace, "purchases", "enrich/enrich.py")
    kubectl(namespace, "wait", "--for=condition=Complete", "job/customers", "--timeout=120s")
    kubectl(namespace, "wait", "--for=condition=Ready", "stream.penstock.dev/purchases", "--timeout=120s")
    for customer in (1, 2, 3):
        publish_texts(stage.nats, "purchases.new", 1, json.dumps({"id": 1, "customer": customer, "amount": 2.5}))
    until(lambda: stored(stage.nats, "ENRICHED") == 2, "both purchases of customers are published", namespace)
    until(lambda: stored(stage.nats, "PURCHASES-etl-dead") == 1, "that of a stranger is a dead letter", namespace)
    show(namespace, "purchases were joined with a table of customers")


def test_a_batch_is_processed_by_executors_in_pods_which_go_with_their_driver(stage: Stage) -> None:
    namespace = Namespace(stage.node, "default")  # the one that examples/executors/rights.yaml names
    apply_example(namespace, "visits", "executors/visits.py")
    kubectl(namespace, "wait", "--for=condition=Ready", "stream.penstock.dev/visits", "--timeout=120s")
    publish_texts(stage.nats, "visits.today", MESSAGES, json.dumps({"page": "start", "visitor": "Ada"}))
    until(lambda: stored(stage.nats, "COUNTS") > 0, "counts are published", namespace)
    executors = "penstock.dev/executors-of=visits-etl"
    until(lambda: len(pods(namespace, executors)) > 0, "executors are there", namespace)
    show(namespace, "visits were counted by executors in pods")
    kubectl(namespace, "delete", "queuegroup/visits-etl")
    until(lambda: not workers(namespace, "visits-etl"), "the worker is gone", namespace)
    until(lambda: not pods(namespace, executors), "its executors are gone with it", namespace)
    show(namespace, "the queue group is deleted, and its executors with it")
