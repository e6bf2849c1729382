"""Conditions: how every kind says in its status what is true of it, and why.

Knows the Kubernetes conventions for them. Does not know which conditions there are, nor when they hold.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from penstock_operator.resources.part import Part

CamelCase = Annotated[
    str, StringConstraints(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
]


class Condition(Part):
    """One thing that is true of the object, or not, or not known."""

    type: Annotated[str, StringConstraints(min_length=1, max_length=316, pattern=r"^[A-Za-z0-9][-A-Za-z0-9_./]*$")]
    """What it is about, as an adjective or a participle: Ready, Synced."""
    status: Literal["True", "False", "Unknown"]
    """Whether it holds."""
    reason: CamelCase
    """Why, in one word for programs."""
    message: Annotated[str, StringConstraints(max_length=32768)]
    """Why, in a sentence for people."""
    last_transition_time: datetime
    """When the status last changed."""
    observed_generation: Annotated[int, Field(ge=0)]
    """The generation of the spec that this was said about."""


class Status(Part):
    """What every kind's status has."""

    observed_generation: Annotated[int | None, Field(ge=0)] = None
    """The generation of the spec that the operator acted on last."""
    conditions: Annotated[
        list[Condition],
        Field(
            max_length=32,
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = Field(default=[])
    """What is true of the object; Ready sums it up."""
