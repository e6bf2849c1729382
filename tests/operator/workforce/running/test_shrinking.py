"""Workers come and go with the backlog, and none goes that holds messages: controllers and engines are real."""

import pytest

from tests.operator.workforce.grouping import GROUP, GroupScene
from tests.operator.workforce.running.groups import ONE_BY_ONE, QUICK, have_two_busy, settled, want
from tests.operator.workforce.running.paper_node import Gate, PaperNode

pytestmark = [
    pytest.mark.xdist_group("a control plane with controllers"),  # so that one is enough for all of them
    pytest.mark.timeout(600),  # each waits for several things, one after the other
]


def test_from_nothing_to_a_worker_and_back(scene: GroupScene, node: PaperNode) -> None:
    scene.declare_group(scaling=QUICK)
    scene.wait_deployment()
    assert not node.workers
    scene.publish_orders(5)
    scene.wait(lambda: settled(scene), "all is processed")
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "True", "ScaledToZero")
    scene.wait(lambda: not node.workers, "the worker has gone")
    scene.publish_orders(2)
    scene.wait(lambda: settled(scene), "a worker has come again")


def test_a_busy_worker_stays_until_it_is_done_while_idle_ones_go(
    scene: GroupScene, node: PaperNode, gate: Gate
) -> None:
    scene.declare_group(scaling={**QUICK, "minReplicas": 3, "maxReplicas": 3}, batch={"maxMessages": 1})
    scene.wait(lambda: scene.status().get("readyReplicas") == 3, "three workers are ready")
    gate.shut()
    scene.publish_orders(1)
    scene.wait(lambda: scene.status().get("busyReplicas") == 1, "one is busy")
    [busy] = [worker.name for worker in node.workers.values() if worker.script.handed]
    scene.declare_group(scaling={**QUICK, "minReplicas": 0, "maxReplicas": 3}, batch={"maxMessages": 1})
    scene.wait(lambda: list(node.workers) == [busy], "the idle ones have gone")
    assert scene.replicas() == 1
    gate.open()
    scene.wait(lambda: not node.workers, "the last one has gone")
    assert settled(scene)
    assert (scene.consumer() or {})["num_redelivered"] == 0


def test_a_suspended_group_finishes_what_it_holds(scene: GroupScene, node: PaperNode, gate: Gate) -> None:
    gate.shut()
    scene.publish_orders(1)
    scene.declare_group(scaling=QUICK, batch=ONE_BY_ONE)
    scene.wait(lambda: scene.status().get("busyReplicas") == 1, "a worker is busy")
    scene.publish_orders(3)
    scene.declare_group(scaling=QUICK, batch=ONE_BY_ONE, suspend=True)
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "Suspended")
    scene.wait_replicas(0)
    [worker] = node.workers.values()
    scene.wait(lambda: worker.is_ending and not worker.asks_ready(), "the worker is asked to end")
    assert len(node.workers) == 1, "it holds messages, and has its time to finish"
    gate.open()
    scene.wait(lambda: not node.workers, "it has gone")
    held = scene.consumer() or {}
    assert (held["num_pending"] + held["num_ack_pending"], held["delivered"]["consumer_seq"] >= 1) == (3, True)


def test_a_worker_that_was_to_go_is_called_back_when_it_is_wanted_again(
    scene: GroupScene, node: PaperNode, gate: Gate
) -> None:
    have_two_busy(scene, gate)
    names = set(node.workers)
    want(scene, 1)
    want(scene, 2)
    gate.open()
    scene.publish_orders(20)
    scene.wait(lambda: settled(scene), "all is processed")
    assert set(node.workers) == names


def test_a_new_leader_goes_on_where_the_one_before_was(scene: GroupScene, node: PaperNode, gate: Gate) -> None:
    have_two_busy(scene, gate)
    want(scene, 1)
    scene.operator.program.kill()
    scene.operator.start()
    scene.operator.wait_ready()
    gate.open()
    scene.wait(lambda: len(node.workers) == 1, "one has gone")
    scene.wait(lambda: settled(scene), "all is processed")
    assert (scene.consumer() or {})["num_redelivered"] == 0
