"""What the API server is to have for a queue group: a Deployment of workers, and what protects them.

Pure. Called by services, which apply it. Knows what pods look like; asks nobody, and decides neither how many workers
there are (plan.scaling) nor what is said about them (plan.fleet).
"""

from penstock_operator.plan.workload.comparing import missing_from
from penstock_operator.plan.workload.equipment import Code, Equipment, PodSecurity, code_print
from penstock_operator.plan.workload.manifest import Manifest
from penstock_operator.plan.workload.whole import Workload, workload

__all__ = [
    "Code",
    "Equipment",
    "Manifest",
    "PodSecurity",
    "Workload",
    "code_print",
    "missing_from",
    "workload",
]
