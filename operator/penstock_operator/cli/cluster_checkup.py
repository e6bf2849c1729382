"""What `penstock doctor` finds in a cluster: the definitions, the operator, and the operator's rights.

Knows what each means and what to do about it. Does not know how the cluster is asked (storage.review).
"""

from collections.abc import AsyncIterator

from kubernetes.aio.client import ApiClient

from penstock_operator.constants import GROUP
from penstock_operator.resources import KINDS, Kind
from penstock_operator.services.nats.examination import Finding, Verdict
from penstock_operator.storage.errors import RefusedError
from penstock_operator.storage.review import OperatorPod, Right, is_defined, may, operator_pods

INSTALL = "penstock crds | kubectl apply --server-side -f -"
RIGHTS = (
    *(Right(verb, GROUP, kind.plural) for kind in KINDS for verb in ("list", "watch")),
    *(Right("patch", GROUP, kind.plural, "status") for kind in KINDS),
    Right("get", "", "secrets"),
    Right("create", "", "events"),
    Right("get", "", "configmaps"),
    *(Right(verb, "apps", "deployments") for verb in ("list", "watch", "create", "patch")),
    *(Right(verb, "policy", "poddisruptionbudgets") for verb in ("list", "watch", "create", "patch")),
    *(Right(verb, "networking.k8s.io", "networkpolicies") for verb in ("list", "watch", "create", "patch")),
    *(Right(verb, "", "pods") for verb in ("list", "watch", "patch")),
)
"""Without one of these the operator is of no use in a namespace."""


async def pods_of_operator(client: ApiClient) -> list[OperatorPod] | None:
    """Return them, or None if we may not look for them."""
    try:
        return await operator_pods(client)
    except RefusedError:
        return None


async def examine_cluster(client: ApiClient, pods: list[OperatorPod] | None, namespace: str) -> AsyncIterator[Finding]:
    """Look at what must be in a cluster for the operator to serve a namespace."""
    for kind in KINDS:
        yield await _definition(client, kind)
    if pods is None:
        sentence = "You may not look for its pods: that needs the verb list on pods of all namespaces."
        yield Finding("operator", Verdict.DOUBTFUL, sentence)
        return
    yield _operator(pods)
    if pods:
        yield await _rights(client, pods[0], namespace)


async def _definition(client: ApiClient, kind: Kind) -> Finding:
    try:
        found = await is_defined(client, kind)
    except RefusedError as refusal:
        return Finding(kind.name, Verdict.DOUBTFUL, f"You may not look at its definition: {refusal}")
    if found is None:
        return Finding(kind.name, Verdict.BAD, "The cluster does not know this kind.", INSTALL)
    if not found:
        sentence = "The cluster's definition is not the one of this version of penstock."
        return Finding(kind.name, Verdict.BAD, sentence, f"Have both of one version: {INSTALL}")
    return Finding(kind.name, Verdict.GOOD, "The cluster's definition is the one of this version.")


def _operator(pods: list[OperatorPod]) -> Finding:
    ready = [pod for pod in pods if pod.is_ready]
    if not pods:
        cure = "Install the chart: charts/penstock. Without an operator, nothing happens to what is declared."
        return Finding("operator", Verdict.BAD, "No pod of the operator was found.", cure)
    sentence = f"{len(ready)} of {len(pods)} pods are ready, in {', '.join(sorted({pod.namespace for pod in pods}))}."
    if ready:
        return Finding("operator", Verdict.GOOD, sentence)
    return Finding("operator", Verdict.BAD, sentence, f"kubectl -n {pods[0].namespace} describe pod {pods[0].name}")


async def _rights(client: ApiClient, pod: OperatorPod, namespace: str) -> Finding:
    try:
        missing = [right for right in RIGHTS if not await may(client, pod.account, right, namespace)]
    except RefusedError as refusal:
        return Finding("rights", Verdict.DOUBTFUL, f"You may not ask what the operator may do: {refusal}")
    who = f"The operator's account {pod.account.namespace}/{pod.account.name}"
    if not missing:
        return Finding("rights", Verdict.GOOD, f"{who} may do all that is needed in namespace {namespace}.")
    sentence = f"{who} may not do in namespace {namespace}: {', '.join(map(str, missing))}."
    return Finding(
        "rights", Verdict.BAD, sentence, "Install the chart's roles, and let its namespaces include this one."
    )
