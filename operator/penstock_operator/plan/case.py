"""A case: one declared Stream or Consumer, its surroundings, and what follows from the two by themselves.

Pure. Knows how to read the facts that decisions are made of. Decides nothing (reconcile.py, deletion.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock_jetstream.config import Facts, Problem, Severity, Table, validate
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.surroundings import Missing, Present, Surroundings
from penstock_operator.plan.wording import TABLES
from penstock_operator.resources import ConsumerSpec, StreamSpec
from penstock_operator.resources.management import (
    FINALIZER,
    PAUSE_ANNOTATION,
    PAUSED,
    RECREATE_ANNOTATION,
    Deletion,
    Management,
    Policy,
)
from penstock_operator.resources.translation import consumer_config, stream_config

SYNCED_GENERATION = "syncedGeneration"
"""In the status: the generation of the spec that the server last agreed with. What differs from it since then was
changed on the server; what a later generation differs in was changed in the spec."""

CONNECTION = "connection"
"""In the status: the Connection that led to the server last, as namespace/name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What one decision is about. The spec could be understood."""

    declared: Declared
    around: Surroundings
    desired: Mapping[str, Any]
    """The configuration that is to be on the server, in its spelling."""
    management: Management

    @classmethod
    def of(cls, declared: Declared, around: Surroundings) -> "Case":
        name = declared.identity.name
        match declared.spec:
            case StreamSpec() as spec:
                desired = stream_config(spec, name)
            case ConsumerSpec() as spec:
                desired = consumer_config(spec, name)
            case _:
                raise TypeError(f"{declared.identity} declares nothing on a server.")
        return cls(declared=declared, around=around, desired=desired, management=spec.management)

    @property
    def kind(self) -> str:
        return self.declared.identity.kind

    @property
    def table(self) -> Table:
        return TABLES[self.kind]

    @property
    def it(self) -> str:
        """What it is on the server, for sentences: stream ORDERS."""
        return f"{self.table.kind} {self.desired['name']}"

    @property
    def facts(self) -> Facts:
        """What is known around the configuration, and whether it is there already."""
        observed = self.around.observed
        exists = isinstance(observed, Present) if isinstance(observed, Present | Missing) else None
        return replace(self.around.facts, exists=exists)

    def errors(self, facts: Facts) -> list[Problem]:
        """Return what the server would refuse, as far as these facts tell."""
        return [problem for problem in self._problems(facts) if problem.severity is Severity.ERROR]

    def warnings(self) -> list[Problem]:
        """Return what works, and may surprise."""
        return [problem for problem in self._problems(self.facts) if problem.severity is Severity.WARNING]

    def _problems(self, facts: Facts) -> list[Problem]:
        return validate(self.table, self.desired, facts)

    @property
    def synced_generation(self) -> int:
        """The generation that the server last agreed with; 0 if none ever did."""
        return int(self.declared.status.get(SYNCED_GENERATION) or 0)

    @property
    def was_in_sync(self) -> bool:
        """Whether the server agreed with this very generation: what differs now was changed behind our back."""
        return self.synced_generation == self.declared.generation

    @property
    def observes(self) -> bool:
        return self.management.policy is Policy.OBSERVE

    @property
    def deletes(self) -> bool:
        """Whether the deletion of the object is to be followed by one on the server."""
        return not self.observes and self.management.deletion is Deletion.DELETE

    @property
    def has_finalizer(self) -> bool:
        return FINALIZER in self.declared.finalizers

    @property
    def is_paused(self) -> bool:
        return self.declared.annotations.get(PAUSE_ANNOTATION) == PAUSED

    @property
    def may_recreate(self) -> bool:
        """Whether somebody has said that all that is on the server may be lost for this generation's sake.

        That holds until the server agrees with the generation: it is not said for ever.
        """
        named = self.declared.annotations.get(RECREATE_ANNOTATION) == str(self.declared.generation)
        return named and not self.was_in_sync
