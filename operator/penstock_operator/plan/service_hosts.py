"""What a host's name says of a Kubernetes Service: whose it may be, and of which of its pods.

Pure. Knows the names that pods are given by a cluster's DNS. Whether there is such a Service, nobody here knows.
"""

import ipaddress
from dataclasses import dataclass

from typing_extensions import override


@dataclass(frozen=True, slots=True)
class ServiceHost:
    """A Service, or one pod of a headless one."""

    namespace: str
    service: str
    pod: str = ""
    """The pod's own host name, where one is meant."""

    @override
    def __str__(self) -> str:
        return f"Service {self.namespace}/{self.service}"


def service_host(host: str, namespace: str) -> ServiceHost | None:
    """Return the Service that a name may mean in a pod of that namespace; None for what cannot be one.

    NAME, NAME.NAMESPACE and NAME.NAMESPACE.svc, with any domain of a cluster behind it; POD before it. Without `svc`,
    more than two names are taken for those of a host out there, as nats.example.com is.
    """
    names = host.rstrip(".").lower().split(".")
    if _is_ip(host) or names == ["localhost"] or not all(names):
        return None
    match names:
        case [service]:
            return ServiceHost(namespace, service)
        case [service, its_namespace] | [service, its_namespace, "svc", *_]:
            return ServiceHost(its_namespace, service)
        case [pod, service, its_namespace, "svc", *_]:
            return ServiceHost(its_namespace, service, pod)
        case _:
            return None


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
