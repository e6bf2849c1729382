"""What breaks around a group whose workers run, and what does not: nobody goes because something cannot be known."""

import pytest

from penstock_worker.policy.outcome import Fault, Outcome, Verdict
from tests.operator.workforce.grouping import GROUP, GroupScene
from tests.operator.workforce.running.groups import QUICK, settled
from tests.operator.workforce.running.paper_node import Gate, PaperNode
from tests.testbed.kubernetes.control_plane import ControlPlane

pytestmark = [
    pytest.mark.xdist_group("a control plane with controllers"),  # so that one is enough for all of them
    pytest.mark.timeout(600),  # each waits for several things, one after the other
]


BROKEN = Outcome(
    Verdict.CODE, 0.1, fault=Fault("NameError", "name 'totals' is not defined", trace="Traceback", place="etl.py:3")
)


def broken(*_: object) -> Outcome:
    return BROKEN


def test_while_the_server_cannot_be_asked_nobody_goes_and_it_is_said(scene: GroupScene, node: PaperNode) -> None:
    scene.declare_group(scaling={**QUICK, "minReplicas": 0, "idle": "0s"})
    scene.publish_orders(1)
    scene.wait(lambda: settled(scene) or bool(node.workers), "a worker comes")
    scene.declare_group(scaling={**QUICK, "minReplicas": 2})
    scene.wait(lambda: scene.status().get("readyReplicas") == 2, "two workers are ready")
    scene.declare_group(scaling={**QUICK, "minReplicas": 2, "idle": "0s"})
    scene.server.freeze()
    scene.wait_condition(f"queuegroup/{GROUP}", "Scaling", "False", "BacklogUnknown")
    scene.declare_group(scaling={**QUICK, "minReplicas": 0, "idle": "0s"})
    scene.wait_condition(f"queuegroup/{GROUP}", "Scaling", "False", "BacklogUnknown")
    assert scene.replicas() == 2
    scene.server.thaw()
    scene.wait(lambda: not node.workers, "they go once it is known that nothing is to be done")


def test_an_api_server_that_was_away_finds_workers_at_work_and_scales_on(
    scene: GroupScene, node: PaperNode, plane: ControlPlane, gate: Gate
) -> None:
    scene.declare_group(scaling=QUICK)
    gate.shut()
    scene.publish_orders(1)
    scene.wait(lambda: scene.status().get("busyReplicas") == 1, "a worker is busy")
    plane.api_server.kill()
    gate.open()
    scene.wait(lambda: settled(scene), "the batch is processed without the API server")
    plane.start_api_server()
    scene.wait(lambda: not node.workers, "the worker has gone")
    scene.publish_orders(2)
    scene.wait(lambda: settled(scene), "another has come")


def test_code_that_cannot_process_what_it_is_given_stops_the_group_until_it_is_changed(
    scene: GroupScene, node: PaperNode
) -> None:
    node.process = broken
    scene.declare_group(scaling=QUICK)
    scene.publish_orders(3)
    said = scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "CodeFailed")
    assert "totals" in said["message"]
    scene.wait(lambda: not node.workers, "nobody tries again")
    scene.operator.program.stop()
    scene.operator.start()
    scene.operator.wait_ready()
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "CodeFailed")
    assert scene.replicas() == 0, "who leads next knows it, too"
    node.process = lambda *_: Outcome(Verdict.OK, 0.1)
    scene.code("etl-code", "def process(df, batch): totals = df")
    scene.wait(lambda: settled(scene), "the code that was corrected has processed all")
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "True")


def test_a_group_that_is_deleted_takes_all_along_and_its_workers_finish_what_they_hold(
    scene: GroupScene, node: PaperNode, gate: Gate
) -> None:
    gate.shut()
    scene.publish_orders(1)
    scene.declare_group(scaling=QUICK)
    scene.wait(lambda: scene.status().get("busyReplicas") == 1, "a worker is busy")
    scene.delete(f"queuegroup/{GROUP}")
    scene.wait_gone(f"deployment/{GROUP}")
    gate.open()
    scene.wait(lambda: not node.workers, "the worker has gone")
    assert settled(scene)
    for what in (f"networkpolicy/{GROUP}", f"poddisruptionbudget/{GROUP}"):
        scene.wait_gone(what)
