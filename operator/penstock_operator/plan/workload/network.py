"""The NetworkPolicy of a group: who may come to its workers, and, where the group says so, where they may go.

Knows which ports a worker serves, and those of the servers that it needs. Names of servers mean nothing to a policy:
what Penstock itself needs is allowed by port.
"""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from penstock_operator.plan.declared import Declared
from penstock_operator.plan.workload import naming
from penstock_operator.plan.workload.spark import Needs, driver_ports, needs_of
from penstock_operator.resources import ConnectionSpec, QueueGroupSpec

Json = dict[str, Any]
NATS_PORT = 4222
DNS_PORT = 53


def network_policy(group: Declared, spec: QueueGroupSpec, connection: ConnectionSpec) -> Json:
    """Return the policy."""
    needs = needs_of(spec.spark)
    rules: Json = {"policyTypes": ["Ingress"], "ingress": _ingress(group, spec, needs)}
    if spec.network.egress is not None:
        theirs = [rule.model_dump(by_alias=True, mode="json", exclude_unset=True) for rule in spec.network.egress]
        ours = _egress(group, connection, needs)
        rules = {"policyTypes": ["Ingress", "Egress"], "ingress": rules["ingress"], "egress": [*ours, *theirs]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": naming.metadata_of(group),
        "spec": {"podSelector": {"matchLabels": naming.selector_of(group.identity)}, **rules},
    }


def _ingress(group: Declared, spec: QueueGroupSpec, needs: Needs) -> list[Json]:
    rules: list[Json] = [{"ports": [_tcp(naming.METRICS_PORT)]}]
    if needs.makes_pods:
        rules.append({"from": [_executors(group)], "ports": [_tcp(port) for port in driver_ports(spec.spark)]})
    if needs.is_called_back:  # by executors on machines of which nothing is known here, at any port of the driver
        rules.append({})
    return rules


def _egress(group: Declared, connection: ConnectionSpec, needs: Needs) -> list[Json]:
    names = {"ports": [{"port": DNS_PORT, "protocol": protocol} for protocol in ("UDP", "TCP")]}
    servers = {"ports": [_tcp(port) for port in sorted({*_nats_ports(connection.servers), *needs.ports})]}
    executors = [{"to": [_executors(group)]}] if needs.makes_pods else []
    return [names, servers, *executors]


def _executors(group: Declared) -> Json:
    """Return the executors' pods, which are beside the worker's."""
    return {"podSelector": {"matchLabels": {naming.EXECUTORS_LABEL: naming.label_of(group.identity.name)}}}


def _nats_ports(servers: Iterable[str]) -> set[int]:
    return {urlsplit(server).port or NATS_PORT for server in servers}


def _tcp(port: int) -> Json:
    return {"port": port, "protocol": "TCP"}
