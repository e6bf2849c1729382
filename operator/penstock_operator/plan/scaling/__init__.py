"""How many workers a queue group shall have, and why. Pure; the same in a cluster, on a laptop and in simulations."""

from penstock_operator.plan.scaling.decision import Decision, Why
from penstock_operator.plan.scaling.limits import Limits
from penstock_operator.plan.scaling.memory import NOTHING_YET, Memory
from penstock_operator.plan.scaling.observation import Observation, Reading
from penstock_operator.plan.scaling.scale import scale
from penstock_operator.plan.scaling.service import NO_WORK_YET, Work

__all__ = [
    "NOTHING_YET",
    "NO_WORK_YET",
    "Decision",
    "Limits",
    "Memory",
    "Observation",
    "Reading",
    "Why",
    "Work",
    "scale",
]
