"""How soon a queue group in a cluster works: from kubectl apply, and from no workers at all, images being there."""

import json
import statistics
import time
from collections.abc import Callable

import pytest

from tests.cluster.orders import GROUP, ORDER, Orders, publish_texts, shop_of
from tests.cluster.stage import Stage, reason, until, workers
from tests.testbed.kubernetes.access import Namespace
from tools.console import say

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # the first test of a run starts the node, and loads images

APPLIED_SECONDS, FROM_ZERO_SECONDS = 15, 12
"""What is promised."""
MOST_ROUNDS, FEWEST_ROUNDS = 6, 3
GOING_AT_ONCE = {"spec": {"scaling": {"idle": "0s", "stabilization": {"down": "0s"}}}}
"""So that the next round begins with none."""


def slowdown() -> float:
    """Return how many times longer work takes now than on processors that do nothing else."""
    began, used = time.monotonic(), time.process_time()
    while time.process_time() - used < 1:
        pass
    return max(1.0, time.monotonic() - began)


def rounds(one: Callable[[], float], promised: float, what: str) -> float:
    """Return the fewest seconds of some rounds: others use the processors too."""
    took: list[float] = []
    while len(took) < FEWEST_ROUNDS or (min(took) > promised and len(took) < MOST_ROUNDS):
        took.append(one())
    told = " ".join(f"{seconds:.1f}" for seconds in took)
    say(f"{what}: {min(took):.1f} s at best, {statistics.median(took):.1f} s in the middle ({told})")
    return min(took)


def test_the_first_batch_is_committed_soon_after_a_group_is_applied_and_after_a_message_comes(stage: Stage) -> None:
    with shop_of(stage, "speed") as (namespace, orders):
        measure(stage, namespace, orders)


def measure(stage: Stage, namespace: Namespace, orders: Orders) -> None:
    group = namespace.kubectl("get", f"queuegroup/{GROUP}", "--output=json")
    manifest = {key: value for key, value in json.loads(group).items() if key in ("apiVersion", "kind", "spec")}
    manifest["metadata"] = {"name": GROUP}

    def applied() -> float:
        namespace.kubectl("delete", f"queuegroup/{GROUP}")
        wait_nobody(namespace)
        publish_texts(stage.nats, "orders.north", 1_000, ORDER)
        return committed(orders, lambda: namespace.kubectl("apply", "--filename=-", stdin=json.dumps(manifest)))

    def from_zero() -> float:
        wait_nobody(namespace)
        until(lambda: reason(namespace, GROUP) == "ScaledToZero", "it says so", namespace)
        return committed(orders, lambda: publish_texts(stage.nats, "orders.north", 1, ORDER))

    slower = slowdown()
    best = rounds(applied, APPLIED_SECONDS, "applied to committed")
    namespace.kubectl("patch", f"queuegroup/{GROUP}", "--type=merge", f"--patch={json.dumps(GOING_AT_ONCE)}")
    best_from_zero = rounds(from_zero, FROM_ZERO_SECONDS, "published with no workers to committed")
    slower = max(slower, slowdown())
    assert best <= APPLIED_SECONDS * slower
    assert best_from_zero <= FROM_ZERO_SECONDS * slower


def wait_nobody(namespace: Namespace) -> None:
    until(lambda: not workers(namespace, GROUP), "nobody is left", namespace)


def committed(orders: Orders, begin: Callable[[], object]) -> float:
    """Return how long it takes until all messages are settled."""
    began = time.monotonic()
    begin()
    orders.wait_settled()
    return time.monotonic() - began
