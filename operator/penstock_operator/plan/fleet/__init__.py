"""The workers of a queue group as they are: what ails them, what is said of the group, and who goes first.

Pure. Called by services, which read pods and ask workers. Knows what pods and workers say of themselves; asks nobody,
and does not decide how many workers there are to be (plan.scaling).
"""

from penstock_operator.plan.fleet.ailments import Ailment, ailment_of
from penstock_operator.plan.fleet.deployments import Rollout, read_deployment
from penstock_operator.plan.fleet.pods import WorkerPod, read_pod
from penstock_operator.plan.fleet.shrinking import FIRST_TO_GO, Moves, shrink
from penstock_operator.plan.fleet.standing import Situation, Standing, standing, stopped_by

__all__ = [
    "FIRST_TO_GO",
    "Ailment",
    "Moves",
    "Rollout",
    "Situation",
    "Standing",
    "WorkerPod",
    "ailment_of",
    "read_deployment",
    "read_pod",
    "shrink",
    "standing",
    "stopped_by",
]
