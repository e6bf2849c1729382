"""Where in the Kubernetes API an object is. Knows the API's paths; asks nobody."""

from penstock_operator.constants import GROUP, VERSION
from penstock_operator.plan.declared import Identity
from penstock_operator.resources import KINDS, Kind

PLURALS = {kind.name: kind.plural for kind in KINDS}


def of_kind(kind: Kind, namespace: str | None) -> str:
    """Return the path of all objects of a kind, in one namespace or in all."""
    scope = "" if namespace is None else f"/namespaces/{namespace}"
    return f"/apis/{GROUP}/{VERSION}{scope}/{kind.plural}"


def of_object(identity: Identity) -> str:
    """Return the path of an object of one of our kinds."""
    return f"{of_all(identity)}/{identity.name}"


def of_all(identity: Identity) -> str:
    """Return the path of all objects of an object's kind and namespace."""
    return f"/apis/{GROUP}/{VERSION}/namespaces/{identity.namespace}/{PLURALS[identity.kind]}"


def of_status(identity: Identity) -> str:
    return f"{of_object(identity)}/status"


def of_events(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/events"


def of_event(namespace: str, name: str) -> str:
    return f"{of_events(namespace)}/{name}"


def of_secret(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/secrets/{name}"


def of_namespace(name: str) -> str:
    return f"/api/v1/namespaces/{name}"


def of_service(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/services/{name}"


def of_endpoint_slices(namespace: str) -> str:
    return f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"


def of_pod(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def of_pods(namespace: str | None) -> str:
    return "/api/v1/pods" if namespace is None else f"/api/v1/namespaces/{namespace}/pods"


def of_config_map(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"
