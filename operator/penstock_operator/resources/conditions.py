"""Conditions: how every kind says in its status what is true of it, and why.

Knows the Kubernetes conventions for them. Does not know which conditions there are, nor when they hold.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from penstock_operator.resources.part import Part
from penstock_operator.resources.scalars import Time

CamelCase = Annotated[
    str, StringConstraints(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
]

Count = Annotated[int, Field(ge=0)]
"""How many of something a server counted."""
Told = Annotated[str, StringConstraints(max_length=255)]
"""A name that a server told."""


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
    last_transition_time: Time
    """When the status last changed."""
    observed_generation: Annotated[int, Field(ge=0)]
    """The generation of the spec that this was said about."""


class Status(Part):
    """What every kind's status has."""

    observed_generation: Annotated[int | None, Field(ge=0)] = None
    """The generation of the spec that all of this is about."""
    conditions: Annotated[
        list[Condition],
        Field(
            max_length=32,
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = Field(default=[])
    """What is true of the object; Ready sums it up."""


class SyncedStatus(Status):
    """What the status of every kind has that declares something on a server."""

    synced_generation: Annotated[int | None, Field(ge=0)] = None
    """The generation of the spec that the server last agreed with. What differs from this very generation was changed
    on the server by somebody else; what a later generation differs in was changed in the spec."""
    connection: Annotated[str | None, StringConstraints(max_length=317)] = None
    """The Connection that led there, as namespace/name: a Consumer that outlives its Stream is still found by it."""


def fact_names(status: type[Status]) -> frozenset[str]:
    """Return the names, as manifests have them, of the live facts that a kind's status shows besides conditions."""
    facts = status.model_fields.keys() - SyncedStatus.model_fields.keys()
    return frozenset(str(status.model_fields[name].alias) for name in facts)
