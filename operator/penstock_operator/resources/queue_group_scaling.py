"""How many workers a queue group has: who decides, and between which bounds.

Knows what may be written. Does not decide.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from penstock_operator.resources.part import Part, Rule
from penstock_operator.resources.ranges import lasting
from penstock_operator.resources.scalars import DurationText

MOST_WORKERS = 1000


class ScalingMode(StrEnum):
    INTERNAL = "Internal"
    EXTERNAL = "External"


class Stabilization(Part):
    """How long a change must be wanted before it is made."""

    up: Annotated[DurationText, lasting("0s", "1h")] = "0s"
    """Before workers are added."""
    down: Annotated[DurationText, lasting("0s", "1h")] = "2m"
    """Before workers are taken away that kept up with what came in. Those called for a backlog go after a quarter."""


class Scaling(Part):
    """How many workers there are, and who decides."""

    mode: ScalingMode = ScalingMode.INTERNAL
    """Internal: Penstock decides, by what is pending. External: an autoscaler or a person does, through /scale."""
    min_replicas: Annotated[int, Field(ge=0, le=MOST_WORKERS)] = 0
    """With mode Internal: never fewer workers than this."""
    max_replicas: Annotated[int, Field(ge=1, le=MOST_WORKERS)] = 20
    """With mode Internal: never more workers than this."""
    target_drain: Annotated[DurationText, lasting("1s", "24h")] = "30s"
    """With mode Internal: in what time what is pending shall be done."""
    stabilization: Stabilization = Stabilization()
    """With mode Internal: how long a change must be wanted before it is made."""
    idle: Annotated[DurationText, lasting("0s", "24h")] = "5m"
    """With mode Internal: how long nothing must be pending before the last worker goes."""

    RULES = (
        Rule(
            "minReplicas is not greater than maxReplicas.",
            "self.minReplicas <= self.maxReplicas",
            lambda scaling: scaling.min_replicas <= scaling.max_replicas,
        ),
    )
