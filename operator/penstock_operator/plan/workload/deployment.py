"""The Deployment of a group's workers. Its replicas are not in it: whoever scales owns them, alone.

Knows how a change rolls. Does not know what is in the pods.
"""

from typing import Any

from penstock_operator.plan.declared import Declared
from penstock_operator.plan.workload import naming

Json = dict[str, Any]
ROLLING = "25%"
PROGRESS_SECONDS = 600
KEPT_REVISIONS = 3


def deployment(group: Declared, template: Json) -> Json:
    """Return the Deployment."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": naming.metadata_of(group),
        "spec": {
            "selector": {"matchLabels": naming.selector_of(group.identity)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": ROLLING, "maxUnavailable": ROLLING}},
            "minReadySeconds": 0,
            "progressDeadlineSeconds": PROGRESS_SECONDS,
            "revisionHistoryLimit": KEPT_REVISIONS,
            "template": template,
        },
    }
