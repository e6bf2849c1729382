"""Workers follow the backlog and keep their messages, with real controllers and engines, also under faults."""

from threading import Event

import pytest

from penstock_worker.policy.outcome import Fault, Outcome, Verdict
from tests.operator.running import RunningOperator
from tests.operator.workforce.grouping import GROUP, GroupScene
from tests.operator.workforce.running.paper_node import PaperNode
from tests.testbed.kubernetes.control_plane import ControlPlane

QUICK = {"stabilization": {"up": "0s", "down": "0s"}, "idle": "1s"}
ONE_BY_ONE = {"maxMessages": 1, "inFlight": 1}
BROKEN = Outcome(
    Verdict.CODE, 0.1, fault=Fault("NameError", "", sentence="etl.py:3: NameError: name 'totals' is not defined.")
)
pytestmark = [
    pytest.mark.xdist_group("a control plane with controllers"),  # so that one is enough for all of them
    pytest.mark.timeout(600),  # each waits for several things, one after the other
]


def have_two_busy(scene: GroupScene, released: Event) -> None:
    """Have two workers, as an autoscaler would say, each with a batch that runs until it is released."""
    scene.declare_group(scaling={"mode": "External"}, replicas=2, batch=ONE_BY_ONE)
    scene.wait_status(readyReplicas=2)
    released.clear()
    scene.publish_orders(2)
    scene.wait_status(busyReplicas=2)


def test_from_nothing_to_a_worker_and_back(scene: GroupScene, node: PaperNode) -> None:
    scene.declare_group(scaling=QUICK)
    scene.wait_deployment()
    assert not node.workers
    scene.publish_orders(5)
    scene.wait_settled()
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "True", "ScaledToZero")
    scene.wait(lambda: not node.workers, "the worker has gone")
    scene.publish_orders(2)
    scene.wait_settled()


def test_busy_worker_stays_until_it_is_done_while_idle_ones_go(
    scene: GroupScene, node: PaperNode, released: Event
) -> None:
    scene.declare_group(scaling={**QUICK, "minReplicas": 3, "maxReplicas": 3}, batch={"maxMessages": 1})
    scene.wait_status(readyReplicas=3)
    released.clear()
    scene.publish_orders(1)
    scene.wait_status(busyReplicas=1)
    [busy] = [worker.name for worker in node.workers.values() if worker.script.handed]
    scene.declare_group(scaling={**QUICK, "minReplicas": 0, "maxReplicas": 3}, batch={"maxMessages": 1})
    scene.wait(lambda: list(node.workers) == [busy], "the idle ones have gone")
    assert scene.replicas() == 1
    released.set()
    scene.wait(lambda: not node.workers, "the last one has gone")
    assert scene.is_settled()
    assert (scene.consumer() or {})["num_redelivered"] == 0


def test_suspended_group_finishes_only_its_running_batch(scene: GroupScene, node: PaperNode, released: Event) -> None:
    released.clear()
    scene.publish_orders(1)
    scene.declare_group(scaling=QUICK, batch=ONE_BY_ONE)
    scene.wait_status(busyReplicas=1)
    scene.publish_orders(3)
    scene.declare_group(scaling=QUICK, batch=ONE_BY_ONE, suspend=True)
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "Suspended")
    scene.wait_replicas(0)
    [worker] = node.workers.values()
    scene.wait(lambda: worker.is_ending and not worker.asks_ready(), "the worker is asked to end")
    assert len(node.workers) == 1, "it holds messages, and has its time to finish"
    released.set()
    scene.wait(lambda: not node.workers, "it has gone")
    held = scene.consumer() or {}
    assert (held["num_pending"] + held["num_ack_pending"], held["delivered"]["consumer_seq"] >= 1) == (3, True)
    scene.declare_group(scaling=QUICK, batch=ONE_BY_ONE)
    scene.wait_settled()


def test_retiring_worker_continues_when_the_group_scales_up(
    scene: GroupScene, node: PaperNode, released: Event
) -> None:
    have_two_busy(scene, released)
    assert scene.status()["selector"] == f"penstock.dev/queue-group={GROUP}"
    names = set(node.workers)
    for workers in (1, 2):
        scene.scale(workers)
        scene.wait_status(desiredReplicas=workers)
    released.set()
    scene.publish_orders(20)
    scene.wait_settled()
    assert set(node.workers) == names


def test_restarted_operator_continues_to_scale_down(
    scene: GroupScene, node: PaperNode, released: Event, operator: RunningOperator
) -> None:
    have_two_busy(scene, released)
    scene.scale(1)
    scene.wait_status(desiredReplicas=1)
    operator.program.kill()
    operator.start()
    operator.wait_ready()
    released.set()
    scene.wait(lambda: len(node.workers) == 1, "one has gone")
    scene.wait_settled()
    assert (scene.consumer() or {})["num_redelivered"] == 0


def test_while_the_server_cannot_be_asked_nobody_goes_and_it_is_said(scene: GroupScene, node: PaperNode) -> None:
    scene.declare_group(scaling={**QUICK, "minReplicas": 0, "idle": "0s"})
    scene.publish_orders(1)
    scene.wait(lambda: scene.is_settled() or bool(node.workers), "a worker comes")
    scene.declare_group(scaling={**QUICK, "minReplicas": 2})
    scene.wait_status(readyReplicas=2)
    scene.declare_group(scaling={**QUICK, "minReplicas": 2, "idle": "0s"})
    scene.server.freeze()
    scene.wait_condition(f"queuegroup/{GROUP}", "Scaling", "False", "BacklogUnknown")
    scene.declare_group(scaling={**QUICK, "minReplicas": 0, "idle": "0s"})
    scene.wait_condition(f"queuegroup/{GROUP}", "Scaling", "False", "BacklogUnknown")
    assert scene.replicas() == 2
    scene.server.thaw()
    scene.wait(lambda: not node.workers, "they go once it is known that nothing is to be done")


def test_workers_continue_without_the_api_server(
    scene: GroupScene, node: PaperNode, plane: ControlPlane, released: Event
) -> None:
    scene.declare_group(scaling=QUICK)
    released.clear()
    scene.publish_orders(1)
    scene.wait_status(busyReplicas=1)
    plane.api_server.kill()
    released.set()
    scene.wait_settled()
    plane.start_api_server()
    scene.wait(lambda: not node.workers, "the worker has gone")
    scene.publish_orders(2)
    scene.wait_settled()


def test_code_that_cannot_process_what_it_is_given_stops_the_group_until_it_is_changed(
    scene: GroupScene, node: PaperNode, operator: RunningOperator
) -> None:
    node.process = lambda *_: BROKEN
    scene.declare_group(scaling=QUICK)
    scene.publish_orders(3)
    said = scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "CodeFailed")
    assert "totals" in said["message"]
    scene.wait(lambda: not node.workers, "nobody tries again")
    operator.program.stop()
    operator.start()
    operator.wait_ready()
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "CodeFailed")
    assert scene.replicas() == 0, "who leads next knows it, too"
    node.process = lambda *_: Outcome(Verdict.OK, 0.1)
    scene.code("etl-code", "def process(df, batch): totals = df")
    scene.wait_settled()
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "True")


def test_workers_of_a_deleted_group_finish_their_batches(scene: GroupScene, node: PaperNode, released: Event) -> None:
    released.clear()
    scene.publish_orders(1)
    scene.declare_group(scaling=QUICK)
    scene.wait_status(busyReplicas=1)
    scene.delete(f"queuegroup/{GROUP}")
    scene.wait_gone(f"deployment/{GROUP}")
    released.set()
    scene.wait(lambda: not node.workers, "the worker has gone")
    assert scene.is_settled()
    for what in (f"networkpolicy/{GROUP}", f"poddisruptionbudget/{GROUP}"):
        scene.wait_gone(what)
