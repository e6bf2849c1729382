"""Volumes on a node of ours, which has no provisioner: folders, each offered to one claim.

A cluster that a user brings has a class of storage, and needs none of this.
"""

from pathlib import Path

from tests.testbed.kubernetes.node import NAME, Node

SIZE = "10Gi"


def offer_volume(node: Node, namespace: str, claim: str) -> Path:
    """Have a volume ready for a claim that is made now or later, and return its folder, as this machine sees it."""
    folder = node.folder / "volumes" / f"{namespace}-{claim}"
    folder.mkdir(parents=True)
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NAME]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{namespace}-{claim}"},
        "spec": {
            "capacity": {"storage": SIZE},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim},
            "local": {"path": str(folder)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
        },
    }
    node.client.create(volume)
    return folder
