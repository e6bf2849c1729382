"""How the cluster is reached: from within, by the pod's service account, or from outside, by KUBECONFIG.

Knows where credentials are found. Does not know what is done with them. KUBECONFIG wins where it is set, as a person
set it; else a pod's own account; else the file that kubectl reads too.
"""

import os

from kubernetes.aio import config
from kubernetes.aio.client import Configuration

VARIABLE = "KUBECONFIG"


class NoAccessError(Exception):
    """There is no way to a cluster."""


async def find_access() -> Configuration:
    """Read how to reach the cluster, anew at each call: a pod's token is renewed every hour."""
    access = Configuration()
    access.retries = False  # who asks has a period and a deadline
    try:
        if VARIABLE not in os.environ and _is_in_pod():
            config.load_incluster_config(client_configuration=access)  # type: ignore[no-untyped-call]
        else:
            file = os.environ.get(VARIABLE)  # the library looks at it only once, when it is imported
            await config.load_kube_config(file, client_configuration=access)  # type: ignore[no-untyped-call]
    except config.ConfigException as problem:
        raise NoAccessError(
            f"No way to a Kubernetes cluster was found: {problem}\n"
            f"hint: set {VARIABLE}, or run in a pod with a service account."
        ) from problem
    return access


def current_namespace() -> str | None:
    """Return the namespace that the kubeconfig's current context names, if it names one."""
    try:
        _, context = config.list_kube_config_contexts()  # type: ignore[no-untyped-call]
    except config.ConfigException:
        return None
    return str(context["context"].get("namespace") or "") or None


def bearer_token(access: Configuration) -> str | None:
    """Return the token that goes with each request, if that is how we show who we are."""
    header = access.api_key.get("BearerToken")
    return header.removeprefix("bearer ").removeprefix("Bearer ").strip() if header else None


def _is_in_pod() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ
