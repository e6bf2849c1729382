"""What the objects and pods of a group are called, how they are marked, and where things are in a pod.

Knows Kubernetes' limits for names. Does not know what is inside the objects.
"""

import hashlib

from penstock_operator.constants import API_VERSION, GROUP
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.resources.queue_group_template import VOLUME_PREFIX

GROUP_LABEL = f"{GROUP}/queue-group"
"""This one alone chooses a group's pods."""
REVISION_LABEL = f"{GROUP}/revision"
"""The print of the template that a pod was made from."""
EXECUTORS_LABEL = f"{GROUP}/executors-of"
APPLIED_ANNOTATION = f"{GROUP}/applied"
"""The print of the whole manifest: what was taken out of it since shows by this."""
SETTINGS_ANNOTATION = f"{GROUP}/settings"
"""What a worker is told. Each pod keeps that of its own revision."""
CODE_ANNOTATION = f"{GROUP}/code"
RESTART_ANNOTATION = f"{GROUP}/restart"
"""Copied from the QueueGroup to its pods, so that any new value of it starts all workers anew."""
DEFAULT_CONTAINER_ANNOTATION = "kubectl.kubernetes.io/default-container"

METRICS_PORT = 8081
METRICS = "metrics"
"""The engine's port, for probes and scrapes."""
DRIVER_PROBES_PORT = 8082
DRIVER_PORT, BLOCK_MANAGER_PORT = 7078, 7079
"""Where executors in pods reach their driver."""

SETTINGS_VOLUME = f"{VOLUME_PREFIX}settings"
SOCKET_VOLUME = f"{VOLUME_PREFIX}socket"
SECRETS_VOLUME = f"{VOLUME_PREFIX}secrets"
TOKEN_VOLUME = f"{VOLUME_PREFIX}token"
API_VOLUME = f"{VOLUME_PREFIX}api"
CODE_VOLUME, CODE_COPY_VOLUME = f"{VOLUME_PREFIX}code", f"{VOLUME_PREFIX}code-copy"
WORK_VOLUME = f"{VOLUME_PREFIX}work"
ENGINE_TMP_VOLUME, DRIVER_TMP_VOLUME = f"{VOLUME_PREFIX}tmp-engine", f"{VOLUME_PREFIX}tmp-driver"

SETTINGS_FOLDER, SETTINGS_FILE = "/etc/penstock", "settings.json"
SECRETS_FOLDER = "/etc/penstock-secrets"
SOCKET_FOLDER, SOCKET = "/run/penstock", "/run/penstock/driver.sock"
CODE_SOURCE_FOLDER, CODE_FOLDER = "/etc/penstock-code", "/opt/penstock-code"
"""The ConfigMap, and the copy that the driver makes of it when the pod starts."""
WORKING_FOLDER = "/job"
"""Where relative paths of the user's code begin."""
TMP, SCRATCH_FOLDER = "/tmp", "/tmp/penstock"  # noqa: S108 - a pod's own
API_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"

LABEL_LETTERS, HASH_LETTERS = 63, 10


def label_of(name: str) -> str:
    """Return what a label says for a name. One that is too long for it is cut, with a hash so that it stays its own."""
    if len(name) <= LABEL_LETTERS:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:HASH_LETTERS]
    return f"{name[: LABEL_LETTERS - HASH_LETTERS - 1].rstrip('-.')}-{digest}"


def selector_of(group: Identity) -> dict[str, str]:
    """Return the labels that choose the group's pods."""
    return {GROUP_LABEL: label_of(group.name)}


def labels_of(group: Identity) -> dict[str, str]:
    """Return what all objects of a group are marked with."""
    return {
        "app.kubernetes.io/name": "penstock-worker",
        "app.kubernetes.io/instance": label_of(group.name),
        "app.kubernetes.io/managed-by": "penstock",
        **selector_of(group),
    }


def metadata_of(group: Declared) -> dict[str, object]:
    """Return the metadata of an object that is the group's, and goes with it."""
    identity = group.identity
    owner = {
        "apiVersion": API_VERSION,
        "kind": identity.kind,
        "name": identity.name,
        "uid": group.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    return {
        "name": identity.name,
        "namespace": identity.namespace,
        "labels": labels_of(identity),
        "ownerReferences": [owner],
    }
