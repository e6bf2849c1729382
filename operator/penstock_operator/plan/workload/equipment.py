"""What workers are made with besides what their group declares: images, the code's print, how much pods may do.

Knows values. The operator is told them when it starts, or sees them in a ConfigMap.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from penstock_operator.plan.workload.manifest import print_of


class PodSecurity(StrEnum):
    """How much the pods of workers may do, in the words of Kubernetes' pod security standards."""

    PRIVILEGED = "privileged"
    BASELINE = "baseline"
    RESTRICTED = "restricted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What the operator was told; the same for all groups."""

    worker_image: str
    pull_policy: str = "IfNotPresent"
    """Of the worker image; the user's own image has Kubernetes' default."""
    pull_secrets: tuple[str, ...] = ()
    """Names of Secrets in the group's namespace."""
    pod_security: PodSecurity = PodSecurity.RESTRICTED


@dataclass(frozen=True, slots=True)
class Code:
    """The ConfigMap that holds the code, as it is now."""

    config_map: str
    print: str


def code_print(data: Mapping[str, str], binary: Mapping[str, str]) -> str:
    """Return the print of a ConfigMap's data and binaryData: a change of it rolls the workers."""
    return print_of([dict(data), dict(binary)])
