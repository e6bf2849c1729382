"""What a real API server says of what is applied: it takes it, and admits its pods where pods may do least."""

import json
from typing import Any

import pytest

from penstock_operator.plan.workload import Workload, missing_from
from tests.operator.plan.workload.workloads import (
    CONNECTION,
    EXAMPLES,
    MASTERS,
    declared,
    example,
    group,
    made,
    objects,
    pod_of,
    with_master,
)
from tests.testbed.kubernetes.access import Namespace

RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"
SECRETS = {
    **CONNECTION,
    "auth": {"credentialsSecretRef": {"name": "nats-user", "key": "user.creds"}},
    "tls": {"caSecretRef": {"name": "ca", "key": "ca.crt"}},
}
EGRESS = [
    {"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]},
    {"ports": [{"port": 443, "protocol": "TCP"}], "to": [{"podSelector": {"matchLabels": {"app": "store"}}}]},
]
WORKLOADS = {
    **{path.parent.name: example(path) for path in EXAMPLES},
    **{master: made(with_master(master)) for master in MASTERS},
    "secrets": made(group(), declared("Connection", "nats", SECRETS)),
    "image": made(group(handler={"entrypoint": "etl:process", "image": "example/etl:1.4"})),
    "egress": made(group(network={"egress": EGRESS}, spark={"master": "sc://connect:443"})),
    "template": made(
        group(
            template={
                "metadata": {"labels": {"team": "etl"}, "annotations": {"note": "x"}},
                "spec": {
                    "nodeSelector": {"disk": "fast"},
                    "containers": [{"name": "driver", "resources": {"limits": {"memory": "2048Mi", "cpu": "1500m"}}}],
                    "volumes": [{"name": "lake", "persistentVolumeClaim": {"claimName": "lake"}}],
                },
            }
        )
    ),
}
each_workload = pytest.mark.parametrize("found", WORKLOADS.values(), ids=WORKLOADS)


@each_workload
def test_the_api_server_takes_all_that_is_applied_and_then_nothing_is_missing(
    namespace: Namespace, found: Workload
) -> None:
    for manifest in objects(found):
        here = {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace.name}}
        assert not missing_from(applied(namespace, here), here)


@each_workload
def test_its_pods_are_admitted_where_pods_may_do_least(namespace: Namespace, found: Workload) -> None:
    namespace.cluster.kubectl("label", "namespace", namespace.name, RESTRICTED)
    pod = pod_of(found)
    account = pod["spec"].get("serviceAccountName", "default")
    if account != "default":
        namespace.kubectl("create", "serviceaccount", account)
    namespace.kubectl("create", "--dry-run=server", "--validate=strict", "--filename=-", stdin=json.dumps(pod))


def applied(namespace: Namespace, manifest: Any) -> Any:  # noqa: ANN401 - JSON is anything
    """Apply an object, and return what the API server keeps."""
    how = ("--server-side", "--validate=strict", "--field-manager=penstock", "--output=json")
    return json.loads(namespace.kubectl("apply", *how, "--filename=-", stdin=json.dumps(manifest)))
