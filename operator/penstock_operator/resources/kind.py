"""A kind: its names, its models, and what `kubectl get` shows of it. Knows no particular kind."""

from dataclasses import dataclass

from penstock_operator.constants import GROUP
from penstock_operator.resources.conditions import Status
from penstock_operator.resources.part import Part


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`; those of priority 1 show with `-o wide` only."""

    name: str
    json_path: str
    type: str = "string"
    priority: int = 0


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

    @property
    def resource(self) -> str:
        """Return the resource's full name, which is also the name of its CustomResourceDefinition."""
        return f"{self.plural}.{GROUP}"


READY = Column("Ready", '.status.conditions[?(@.type=="Ready")].status')
REASON = Column("Reason", '.status.conditions[?(@.type=="Ready")].reason')
AGE = Column("Age", ".metadata.creationTimestamp", type="date")
