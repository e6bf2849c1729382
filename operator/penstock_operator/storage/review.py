"""What a person wants to know of a cluster before blaming anything else: definitions, the operator's pods, its rights.

Knows where the API server tells of each. Does not know what is to be concluded from it. Only reads: a review of access
is made by a POST, and leaves nothing behind.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubernetes.aio.client import ApiClient
from typing_extensions import override

from penstock_operator.resources import Kind, definition
from penstock_operator.storage import paths
from penstock_operator.storage.api import ask, find

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
OPERATORS = "app.kubernetes.io/name=penstock"
"""The label that the chart gives to the operator's pods."""


@dataclass(frozen=True, slots=True)
class Right:
    """Something that an account may do, or not."""

    verb: str
    group: str
    resource: str
    subresource: str = ""

    @override
    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {resource}{f'/{self.subresource}' if self.subresource else ''}"


@dataclass(frozen=True, slots=True)
class Account:
    """A service account."""

    namespace: str
    name: str

    @override
    def __str__(self) -> str:
        return f"The account {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class OperatorPod:
    """A pod that runs the operator."""

    namespace: str
    name: str
    account: Account
    is_ready: bool
    arguments: tuple[str, ...]


async def is_defined(client: ApiClient, kind: Kind) -> bool | None:
    """Tell whether the cluster's definition of a kind says all that ours says; None if it has none."""
    found = await find(client, f"{DEFINITIONS}/{kind.resource}")
    return None if found is None else contains(found["spec"], definition(kind)["spec"])


def contains(found: object, wanted: object) -> bool:
    """Tell whether all that is wanted is there: the API server adds its defaults, and leaves out what is empty."""
    if isinstance(wanted, Mapping):
        named = found if isinstance(found, Mapping) else {}
        return all(contains(named.get(name), value) for name, value in wanted.items())
    if isinstance(wanted, list):
        listed = found if isinstance(found, list) else []
        return len(listed) == len(wanted) and all(map(contains, listed, wanted))
    return found == wanted or not (found or wanted)


async def operator_pods(client: ApiClient) -> list[OperatorPod]:
    """Return the pods that run the operator, wherever they are."""
    found = await ask(client, "GET", paths.of_pods(None), query=[("labelSelector", OPERATORS)])
    return [_pod(each) for each in found["items"]]


async def may(client: ApiClient, account: Account, right: Right, namespace: str) -> bool:
    """Tell whether an account may do something in a namespace."""
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": right.resource,
        "subresource": right.subresource,
        "namespace": namespace,
    }
    spec = {"user": f"system:serviceaccount:{account.namespace}:{account.name}", "resourceAttributes": attributes}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer: dict[str, Any] = await ask(client, "POST", REVIEWS, body)
    return bool(answer["status"].get("allowed"))


def _pod(found: Mapping[str, Any]) -> OperatorPod:
    conditions = found.get("status", {}).get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    namespace = found["metadata"]["namespace"]
    account = Account(namespace, found["spec"].get("serviceAccountName") or "default")
    arguments = tuple(word for container in found["spec"]["containers"] for word in container.get("args") or ())
    return OperatorPod(namespace, found["metadata"]["name"], account, ready, arguments)
