"""Queue groups whose workers run: how tests have them busy, and see that all is processed."""

from tests.operator.workforce.grouping import GROUP, GroupScene
from tests.operator.workforce.running.paper_node import Gate

QUICK = {"stabilization": {"up": "0s", "down": "0s"}, "idle": "1s"}
ONE_BY_ONE = {"maxMessages": 1, "inFlight": 1}


def have_two_busy(scene: GroupScene, gate: Gate) -> None:
    """Have two workers, as an autoscaler would say, each at work on a batch that does not end."""
    scene.declare_group(scaling={"mode": "External"}, replicas=2, batch=ONE_BY_ONE)
    scene.wait(lambda: scene.status().get("readyReplicas") == 2, "two workers are ready")
    gate.shut()
    scene.publish_orders(2)
    scene.wait(lambda: scene.status().get("busyReplicas") == 2, "both are busy")


def want(scene: GroupScene, workers: int) -> None:
    scene.namespace.client.scale(f"queuegroup/{GROUP}", workers)
    scene.wait(lambda: scene.status().get("desiredReplicas") == workers, f"there are to be {workers}")


def settled(scene: GroupScene) -> bool:
    held = scene.consumer() or {}
    return (held.get("num_pending"), held.get("num_ack_pending")) == (0, 0)
