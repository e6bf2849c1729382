"""A kind: its names, its models, what `kubectl get` shows of it, and what else the API server does for it.

Knows what all that consists of. Knows no particular kind.
"""

from dataclasses import dataclass
from typing import Any

from penstock_operator.constants import GROUP
from penstock_operator.resources.conditions import Status
from penstock_operator.resources.part import ChangeRule, Part, Rule


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`; those of priority 1 show with `-o wide` only."""

    name: str
    json_path: str
    type: str = "string"
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Scale:
    """Where `kubectl scale` and autoscalers find the number of replicas, and how they find the pods."""

    spec_replicas: str
    status_replicas: str
    label_selector: str


@dataclass(frozen=True, slots=True)
class Written:
    """An object as its kind's own rules see it: its spec, and of its metadata the name alone, as CEL does."""

    name: str
    spec: Any


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object that users declare."""

    name: str
    plural: str
    short_names: tuple[str, ...]
    description: str
    spec: type[Part]
    status: type[Status]
    columns: tuple[Column, ...]
    selectable_fields: tuple[str, ...] = ()
    """Which fields of an object `kubectl get --field-selector` and watches can ask for."""
    scale: Scale | None = None
    rules: tuple[Rule, ...] = ()
    """What the spec and metadata.name promise together: `self` in CEL is the object; `holds` is given it as Written."""
    change_rules: tuple[ChangeRule, ...] = ()
    """What an update of the whole object promises; `holds` is given both as Written."""

    def faults_after(self, name: str, spec: Part, old: Part) -> list[str]:
        """Return the sentences of all change rules, the spec's and the kind's own, that an update would break."""
        new, was = Written(name, spec), Written(name, old)
        broken = [rule.sentence for rule in self.change_rules if not rule.holds(new, was)]
        return spec.faults_after(old) + broken

    @property
    def resource(self) -> str:
        """Return the resource's full name, which is also the name of its CustomResourceDefinition."""
        return f"{self.plural}.{GROUP}"

    def faults(self, name: str, spec: Part) -> list[str]:
        """Return the sentences of the kind's own rules that an object of this name would break."""
        return [rule.sentence for rule in self.rules if not rule.holds(Written(name, spec))]


READY = Column("Ready", '.status.conditions[?(@.type=="Ready")].status')
REASON = Column("Reason", '.status.conditions[?(@.type=="Ready")].reason')
AGE = Column("Age", ".metadata.creationTimestamp", type="date")
