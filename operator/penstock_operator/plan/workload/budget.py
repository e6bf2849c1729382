"""The PodDisruptionBudget of a group: how many of its workers may be taken from their nodes at once.

Knows one number. A worker that cannot work protects nothing, and is let go.
"""

from typing import Any

from penstock_operator.plan.declared import Declared
from penstock_operator.plan.workload import naming

DISRUPTED_AT_MOST = "25%"


def disruption_budget(group: Declared) -> dict[str, Any]:
    """Return the budget."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": naming.metadata_of(group),
        "spec": {
            "selector": {"matchLabels": naming.selector_of(group.identity)},
            "maxUnavailable": DISRUPTED_AT_MOST,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }
