"""The settings of a Spark whose executors are pods: the driver is in a pod already, and makes them beside itself.

Knows the variables that say which pod that is (PENSTOCK_POD_NAME and its like), and how Spark asks for pods. Executors
are owned by the driver's pod: they go with it, however it goes. They have the variables that the user declared for the
driver, as they were declared: a value from a Secret is in no setting of Spark, which shows and logs those. Does not
speak to Kubernetes, which Spark does.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock_worker.spark.problems import CannotStartError

DRIVER_PORT, BLOCKS_PORT = 7078, 7079
"""Fixed, so that a NetworkPolicy can name them."""
EXECUTORS_OF = "penstock.dev/executors-of"
USER = 10001
TEMPLATE = "executor.json"
ENV = "PENSTOCK_EXECUTOR_ENV"
"""Variables as a pod has them, as JSON: for those of executors."""
NAME = "spark.kubernetes.driver.pod.name"
POD_TEMPLATE = "spark.kubernetes.executor.podTemplateFile"
CLAIMS = "spark.kubernetes.executor.volumes.persistentVolumeClaim."
DEFAULTS: Mapping[str, str] = {
    # The driver's ports are open to whoever reaches its pod. Spark makes a secret of its own for each application.
    "spark.authenticate": "true",
    "spark.executor.instances": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "1g",
    "spark.kubernetes.memoryOverheadFactor": "0.4",  # as Spark's own for Python, which it cannot know of here
    # A batch that comes first waits a little for its executors: with none of them, Spark would warn and wait as well.
    "spark.scheduler.minRegisteredResourcesRatio": "0.5",
}


def pods(conf: Mapping[str, str], told: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the settings that follow from the pod that we are in; none, outside of any."""
    name, namespace = told.get("PENSTOCK_POD_NAME"), told.get("PENSTOCK_NAMESPACE")
    if not name or not namespace:
        return dict(DEFAULTS)
    _check(conf, name, namespace)
    settings = {
        **DEFAULTS,
        **reached_at({"PENSTOCK_POD_IP": name, **told}),
        "spark.kubernetes.executor.useDriverPodIP": "false",  # else they come to where it listens, as Spark 4.2 has it
        "spark.driver.port": str(DRIVER_PORT),
        "spark.driver.blockManager.port": str(BLOCKS_PORT),
        "spark.kubernetes.namespace": namespace,
        POD_TEMPLATE: str(folder / TEMPLATE),
        **_ownership(conf, told, name),
    }
    if image := told.get("PENSTOCK_IMAGE"):
        settings["spark.kubernetes.container.image"] = image
    cores, instances = (conf.get(key, DEFAULTS[key]) for key in ("spark.executor.cores", "spark.executor.instances"))
    if cores.isdecimal() and instances.isdecimal():
        settings["spark.sql.shuffle.partitions"] = str(max(1, int(cores) * int(instances)))
    return settings


def reached_at(told: Mapping[str, str]) -> dict[str, str]:
    """Return where executors reach a driver in a pod, whose name means nothing to others; nothing, outside of any."""
    if not (address := told.get("PENSTOCK_POD_IP")):
        return {}
    return {"spark.driver.host": _host(address), "spark.driver.bindAddress": _host(address)}


def write_template(folder: Path, conf: Mapping[str, str], told: Mapping[str, str]) -> None:
    """Write what executors' pods are beyond what Spark makes of them."""
    (folder / TEMPLATE).write_text(json.dumps(template(conf, told)))


def template(conf: Mapping[str, str], told: Mapping[str, str]) -> dict[str, Any]:
    """Return a pod that may run under the restricted standard of pod security, on a read-only root."""
    group = told.get("PENSTOCK_GROUP", "")
    container = {
        "name": "executor",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "penstock-tmp", "mountPath": "/tmp"}],  # noqa: S108 - a volume of the pod's own
        "env": json.loads(told.get(ENV, "[]")),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {EXECUTORS_OF: group} if group else {}, "ownerReferences": [*_owner(conf, told)]},
        "spec": {
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
            "volumes": [{"name": "penstock-tmp", "emptyDir": {}}],
        },
    }


def _ownership(conf: Mapping[str, str], told: Mapping[str, str], name: str) -> dict[str, str]:
    """Return what has Spark make the driver's pod the owner of all that it makes; nothing where our template does.

    Spark that is told its pod's name waits until that is ready, for a second and with a long complaint in the end: the
    pod is ready once Spark is.
    """
    if _owns_by_template(conf, told):
        return {"spark.kubernetes.executor.disableConfigMap": "true"}  # it would stay: we cannot own it
    return {NAME: name}


def _owner(conf: Mapping[str, str], told: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    if _owns_by_template(conf, told):
        name, uid = told["PENSTOCK_POD_NAME"], told["PENSTOCK_POD_UID"]
        yield {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid, "controller": True}


def _owns_by_template(conf: Mapping[str, str], told: Mapping[str, str]) -> bool:
    """Tell whether executors' pods are all that there is to own, and made as we say.

    Claims of volumes are more, and so is a ConfigMap for files of settings, which the user may have mounted.
    """
    is_more = any(name in (NAME, POD_TEMPLATE) or name.startswith(CLAIMS) for name in conf) or "SPARK_CONF_DIR" in told
    return bool(told.get("PENSTOCK_POD_NAME") and told.get("PENSTOCK_POD_UID")) and not is_more


def _check(conf: Mapping[str, str], name: str, namespace: str) -> None:
    """Refuse what cannot work, whoever asks for it."""
    if conf.get("spark.submit.deployMode", "client") != "client":
        raise CannotStartError("spark.submit.deployMode: the driver is a worker's, so it can be client only.")
    _refuse_another(
        conf, "spark.kubernetes.namespace", namespace, "executors go with the worker's pod only where it is"
    )
    _refuse_another(conf, NAME, name, "the driver is in the worker's own pod")


def _refuse_another(conf: Mapping[str, str], setting: str, ours: str, why: str) -> None:
    if conf.get(setting, ours) != ours:
        raise CannotStartError(f"{setting} is {conf[setting]}, but {why}, {ours}. Leave it out.")


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address
