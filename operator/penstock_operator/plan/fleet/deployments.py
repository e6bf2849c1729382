"""The Deployment of a group, as the API server shows it: how many pods it has to have, and why it cannot make them.

Knows where a Deployment says what. Does not know its pods.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock_operator.plan.fleet.last_words import refusal
from penstock_operator.plan.workload.manifest import as_mapping, as_mappings
from penstock_operator.plan.workload.naming import REVISION_LABEL
from penstock_operator.resources.queue_group_template import DRIVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """What a Deployment says of itself."""

    asked: int
    """How many pods it has been told to have."""
    revision: str
    """The print of its pod template."""
    image: str
    """Of the driver."""
    refused: str = ""
    """Why pods cannot be made, in the API server's words."""
    is_seen: bool = True
    """Whether its controller has taken note of it as it is now."""


def read_deployment(deployment: Mapping[str, Any]) -> Rollout:
    """Read a Deployment."""
    metadata, spec, status = (as_mapping(deployment.get(part)) for part in ("metadata", "spec", "status"))
    template = as_mapping(spec.get("template"))
    labels = as_mapping(as_mapping(template.get("metadata")).get("labels"))
    containers = as_mappings(as_mapping(template.get("spec")).get("containers"))
    failures = [
        str(each.get("message") or "")
        for each in as_mappings(status.get("conditions"))
        if each.get("type") == "ReplicaFailure" and each.get("status") == "True"
    ]
    return Rollout(
        asked=int(spec.get("replicas", 1)),
        revision=str(labels.get(REVISION_LABEL, "")),
        image=next((str(each.get("image", "")) for each in containers if each.get("name") == DRIVER), ""),
        refused=refusal(failures[0]) if failures else "",
        is_seen=int(status.get("observedGeneration") or 0) >= int(metadata.get("generation") or 0),
    )
