"""A real API server accepts what is applied, and admits the pods in a restricted namespace."""

import uuid

import pytest

from penstock_operator.plan.workload import missing_from
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
from tests.testbed.kubernetes.access import Access, Namespace

RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
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


def test_api_server_takes_each_workload_whole_and_admits_its_restricted_pods(
    control_plane: Access, subtests: pytest.Subtests
) -> None:
    for name, found in WORKLOADS.items():
        with subtests.test(name):
            namespace = Namespace.create(control_plane, f"workload-{uuid.uuid4().hex[:10]}")
            for manifest in objects(found):
                here = {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace.name}}
                assert not missing_from(namespace.client.apply(here), here)
            control_plane.client.label(f"namespace/{namespace.name}", RESTRICTED)
            pod = pod_of(found)
            account = {"apiVersion": "v1", "kind": "ServiceAccount"}
            if service_account := pod["spec"].get("serviceAccountName"):
                namespace.client.create({**account, "metadata": {"name": service_account}})
            namespace.client.create(pod, dry_run=True)
