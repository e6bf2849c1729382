"""What a group stands on, found among what is declared: where it works, and that all of it is there.

Knows in which order it is asked for. Each question is decided in the pure ring (plan.group_places, plan.group_ground).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.group_ground import why_not_there
from penstock_operator.plan.group_places import GroupPlace, group_place
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.resources import ConsumerSpec, QueueGroupSpec
from penstock_operator.resources.management import PAUSE_ANNOTATION, PAUSED

PAUSED_SENTENCE = (
    "Paused by the annotation penstock.dev/reconcile: nobody looks, and nothing is changed, until it is removed."
)


@dataclass(frozen=True, slots=True)
class Ground:
    """All of it is there."""

    spec: QueueGroupSpec
    place: GroupPlace
    connection: Declared
    consumer: ConsumerSpec


def ground(declared: Declared, world: Mapping[Identity, Declared]) -> Ground | Waiting:
    """Find it, or what is missing of it."""
    if declared.annotations.get(PAUSE_ANNOTATION) == PAUSED:
        return Waiting(Reason.PAUSED, PAUSED_SENTENCE)
    if not isinstance(declared.spec, QueueGroupSpec):
        return Waiting(Reason.INVALID, declared.fault)
    place = group_place(declared.identity, declared.spec, world)
    if isinstance(place, Waiting):
        return place
    return why_not_there(place, world) or _found(declared.spec, place, world)


def _found(spec: QueueGroupSpec, place: GroupPlace, world: Mapping[Identity, Declared]) -> Ground | Waiting:
    connection, consumer = world.get(place.connection), world[place.consumer_identity].spec
    if connection is None:
        return Waiting(Reason.CONNECTION_NOT_FOUND, f"There is no {place.connection}.", lost=True)
    if not isinstance(consumer, ConsumerSpec):  # group_place has found it to be one
        raise TypeError(f"{place.consumer_identity} is no Consumer.")
    return Ground(spec, place, connection, consumer)
