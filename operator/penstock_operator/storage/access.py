"""How the cluster is reached: from within, by the pod's service account, or from outside, by KUBECONFIG.

Knows where credentials are found. Does not know what is done with them. KUBECONFIG wins where it is set, as a person
set it; else a pod's own account; else the file that kubectl reads too.
"""

import os
from pathlib import Path

from kubernetes.aio import config
from kubernetes.aio.client import Configuration

VARIABLE = "KUBECONFIG"
DEFAULT_FILE = "~/.kube/config"
HINT = f"hint: set {VARIABLE}, or run in a pod with a service account. Commands with -f need no cluster."


class NoAccessError(Exception):
    """There is no way to a cluster."""


async def find_access(context: str | None = None) -> Configuration:
    """Read how to reach the cluster, anew at each call: a pod's token is renewed every hour.

    A context is one of the kubeconfig's; without a name, its current one.
    """
    access = Configuration()
    access.retries = False  # who asks has a period and a deadline
    try:
        if is_within() and context is None:
            config.load_incluster_config(client_configuration=access)  # type: ignore[no-untyped-call]
        else:
            file = os.environ.get(VARIABLE)  # the library looks at it only once, when it is imported
            _check_there(file or DEFAULT_FILE)
            await config.load_kube_config(file, context=context, client_configuration=access)  # type: ignore[no-untyped-call]
    except config.ConfigException as problem:
        raise _no_access(str(problem)) from problem
    return access


def _check_there(files: str) -> None:
    """Refuse what the library would print a line of its own about, and then complain of what is in no file."""
    if not any(Path(file).expanduser().is_file() for file in files.split(os.pathsep) if file):
        raise _no_access(f"There is no file {files}.")


def _no_access(reason: str) -> NoAccessError:
    return NoAccessError(f"No way to a Kubernetes cluster was found: {reason}\n{HINT}")


def current_namespace(name: str | None = None) -> str | None:
    """Return the namespace that a context of the kubeconfig names, if it names one; by default of its current one."""
    try:
        file = os.environ.get(VARIABLE)  # the library looks at it only once, when it is imported
        _check_there(file or DEFAULT_FILE)
        contexts, current = config.list_kube_config_contexts(file)  # type: ignore[no-untyped-call]
    except (config.ConfigException, NoAccessError):
        return None
    chosen = current if name is None else next((each for each in contexts if each["name"] == name), current)
    return str(chosen["context"].get("namespace") or "") or None


def bearer_token(access: Configuration) -> str | None:
    """Return the token that goes with each request, if that is how we show who we are."""
    header = access.api_key.get("BearerToken")
    return header.removeprefix("bearer ").removeprefix("Bearer ").strip() if header else None


def is_within() -> bool:
    """Tell whether we are a pod of the cluster that is meant."""
    return VARIABLE not in os.environ and _is_in_pod()


def _is_in_pod() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ
