"""The two containers of a worker: the engine, a sidecar that starts first and ends last, and the driver.

Knows their programs, probes, variables and what they ask of a node by default. The
entrypoint of their images is Python. Does not know their volumes (files.py).
"""

import json
from typing import Any

from penstock_operator.plan.declared import Identity
from penstock_operator.plan.workload import naming
from penstock_operator.plan.workload.equipment import Equipment
from penstock_operator.plan.workload.spark import Needs, driver_ports
from penstock_operator.resources import QueueGroupSpec
from penstock_operator.resources.queue_group_handler import Variable
from penstock_operator.resources.queue_group_template import DRIVER, ENGINE

Json = dict[str, Any]
ENGINE_RESOURCES: Json = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}
DRIVER_RESOURCES: Json = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
"""No limit of CPU: what is throttled holds messages for longer than it needs to."""
RESTRICTED: Json = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}
FILE = f"{naming.SETTINGS_FOLDER}/{naming.SETTINGS_FILE}"
STARTUP_SECONDS = 300
"""For the driver to answer at all: Spark may start after that."""
POD_NAME = "PENSTOCK_POD_NAME"


def engine(equipment: Equipment, mounts: list[Json]) -> Json:
    """Return the engine. No startup probe: the driver starts once the engine runs, and not later."""
    return {
        "name": ENGINE,
        "image": equipment.worker_image,
        "imagePullPolicy": equipment.pull_policy,
        "restartPolicy": "Always",
        "args": ["-m", "penstock_worker.engine", "--settings", FILE, "--worker", f"$({POD_NAME})"],
        "env": _own_env(),
        "ports": [{"name": naming.METRICS, "containerPort": naming.METRICS_PORT, "protocol": "TCP"}],
        "livenessProbe": {**_asking("/healthz", naming.METRICS_PORT, 10), "initialDelaySeconds": 10},
        "readinessProbe": {**_asking("/readyz", naming.METRICS_PORT, 3), "failureThreshold": 2},
        **_what_both_have(mounts, ENGINE_RESOURCES),
    }


def driver(group: Identity, spec: QueueGroupSpec, equipment: Equipment, needs: Needs, mounts: list[Json]) -> Json:
    """Return the driver. The user's own image is pulled as Kubernetes does by default, which depends on its tag."""
    image = spec.handler.image or equipment.worker_image
    alive = _asking("/healthz", naming.DRIVER_PROBES_PORT, 10)
    theirs = [_variable(variable) for variable in spec.handler.env]
    ours = [
        {"name": "PENSTOCK_IMAGE", "value": image},
        {"name": "PENSTOCK_GROUP", "value": naming.label_of(group.name)},
        *(_for_executors(theirs) if needs.makes_pods else ()),
    ]
    return {
        "name": DRIVER,
        "image": image,
        **({} if spec.handler.image else {"imagePullPolicy": equipment.pull_policy}),
        "args": ["-m", "penstock_worker.driver.main", "--settings", FILE],
        "workingDir": naming.WORKING_FOLDER,
        "env": [*_own_env(), *ours, *theirs],
        **({"ports": _called_back_at(spec)} if needs.makes_pods else {}),
        "startupProbe": {**alive, "periodSeconds": 2, "failureThreshold": STARTUP_SECONDS // 2},
        "livenessProbe": alive,
        **_what_both_have(mounts, DRIVER_RESOURCES),
    }


def _what_both_have(mounts: list[Json], resources: Json) -> Json:
    return {
        "resources": resources,
        "securityContext": RESTRICTED,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }


def _own_env() -> list[Json]:
    fields = {POD_NAME: "metadata.name", "PENSTOCK_POD_IP": "status.podIP", "PENSTOCK_NAMESPACE": "metadata.namespace"}
    return [_of_pod(name, path) for name, path in fields.items()]


def _of_pod(name: str, path: str) -> Json:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _for_executors(variables: list[Json]) -> list[Json]:
    """Return what the driver tells the pods that it makes: whom they go with, and the user's variables.

    Those as they are declared: what they refer to is looked up for each pod, and $(…) is left for that as well.
    """
    as_declared = json.dumps(variables, separators=(",", ":"), ensure_ascii=False).replace("$(", "$$(")
    return [_of_pod("PENSTOCK_POD_UID", "metadata.uid"), {"name": "PENSTOCK_EXECUTOR_ENV", "value": as_declared}]


def _asking(path: str, port: int, period_seconds: int) -> Json:
    """Return a probe. One answer that is late or lost is nothing yet: three in a row are."""
    how = {"periodSeconds": period_seconds, "timeoutSeconds": 5, "failureThreshold": 3}
    return {"httpGet": {"path": path, "port": port}, **how}


def _variable(variable: Variable) -> Json:
    """Return a variable as a pod has it; what is false by default is left out."""
    return variable.model_dump(by_alias=True, mode="json", exclude_defaults=True)


def _called_back_at(spec: QueueGroupSpec) -> list[Json]:
    names = ("driver-rpc", "blockmanager")
    return [
        {"name": name, "containerPort": port, "protocol": "TCP"}
        for name, port in zip(names, driver_ports(spec.spark), strict=True)
    ]
