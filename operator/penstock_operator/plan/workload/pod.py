"""The pod template of a group's workers: ours, with the user's template merged into it, and judged.

Knows what Penstock decides itself, and what a template may not take away. Does not know what makes pods of it.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock_operator.plan.declared import Identity
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.plan.worker_settings import WorkerPlace, worker_settings
from penstock_operator.plan.workload import containers, files, naming
from penstock_operator.plan.workload.equipment import Code, Equipment, PodSecurity
from penstock_operator.plan.workload.manifest import as_mappings, print_of
from penstock_operator.plan.workload.merging import UnmergeableError, merged
from penstock_operator.plan.workload.pod_security import breaches
from penstock_operator.plan.workload.spark import needs_of
from penstock_operator.resources import ConnectionSpec, QueueGroupSpec
from penstock_operator.resources.queue_group_template import DRIVER, ENGINE, VOLUME_PREFIX
from penstock_operator.resources.scalars import seconds

Json = dict[str, Any]
USER = 10001
"""Of both images; any other does as well."""
SPARE_SECONDS = 30
"""How much longer than one batch may take a pod gets for its end."""
LAST_SECONDS = 15
"""Of these, what the engine leaves for answers, and the driver's end."""
SETTINGS_BYTES = 200 << 10
"""All annotations of an object together may have 256 KiB."""
OURS = ("image", "args", "command", "restartPolicy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingredients:
    """All that a group's pods are made of."""

    group: Identity
    spec: QueueGroupSpec
    connection: ConnectionSpec
    place: GroupPlace
    code: Code | None
    equipment: Equipment
    restart: str | None
    """Whatever an annotation of the group says, to have its workers start anew."""


def pod_template(of: Ingredients) -> Json | Waiting:
    """Return the template of a group's pods, or why there can be none."""
    metadata, ours, template = _metadata(of), _spec(of), of.spec.template.spec
    patch = template.model_dump(by_alias=True, mode="json", exclude_unset=True) if template else {}
    try:
        pod = merged(ours, patch)
    except UnmergeableError as problem:
        return Waiting(Reason.TEMPLATE_REFUSED, str(problem))
    if fault := _taken_away(ours, pod) or _too_much(of.equipment.pod_security, metadata, pod):
        return Waiting(Reason.TEMPLATE_REFUSED, fault)
    settings = json.dumps(_settings(of, pod), separators=(",", ":"), ensure_ascii=False)
    if len(settings.encode()) > SETTINGS_BYTES:
        return Waiting(
            Reason.INVALID,
            f"What a worker is told has {len(settings.encode()) >> 10} KiB, and a pod can be told "
            f"{SETTINGS_BYTES >> 10} KiB: shorten spec.spark.conf.",
        )
    metadata["annotations"][naming.SETTINGS_ANNOTATION] = settings
    metadata["labels"][naming.REVISION_LABEL] = print_of({"metadata": metadata, "spec": pod})
    return {"metadata": metadata, "spec": pod}


def _metadata(of: Ingredients) -> Json:
    theirs = of.spec.template.metadata
    annotations = {
        naming.DEFAULT_CONTAINER_ANNOTATION: DRIVER,
        **({naming.CODE_ANNOTATION: of.code.print} if of.code else {}),
        **({naming.RESTART_ANNOTATION: of.restart} if of.restart is not None else {}),
    }
    return {
        "labels": {**naming.labels_of(of.group), **(theirs.labels if theirs else {})},
        "annotations": {**annotations, **(theirs.annotations if theirs else {})},
    }


def _spec(of: Ingredients) -> Json:
    needs = needs_of(of.spec.spark)
    engine_sees = files.engine_mounts(of.connection)
    driver_sees = files.driver_mounts(of.spec, calls_api=needs.makes_pods)
    pull_secrets = [{"name": name} for name in of.equipment.pull_secrets]
    return {
        "initContainers": [containers.engine(of.equipment, engine_sees)],
        "containers": [containers.driver(of.group, of.spec, of.equipment, needs, driver_sees)],
        "volumes": files.volumes_of(of.spec, of.connection, calls_api=needs.makes_pods),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "terminationGracePeriodSeconds": math.ceil(seconds(of.spec.batch.deadline)) + SPARE_SECONDS,
        "topologySpreadConstraints": [_spread(of.group)],
        **({"imagePullSecrets": pull_secrets} if pull_secrets else {}),
    }


def _spread(group: Identity) -> Json:
    """Return what has workers of one revision on as many nodes as there are, as far as that goes."""
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": naming.selector_of(group)},
        "matchLabelKeys": ["pod-template-hash"],
    }


def _taken_away(ours: Mapping[str, Any], pod: Mapping[str, Any]) -> str | None:
    """Tell what a worker cannot be without: a directive in a template may have removed it."""
    for kind, name in (("initContainers", ENGINE), ("containers", DRIVER)):
        before, after = _named(ours[kind], name), _named(pod.get(kind), name)
        if any(before.get(field) != after.get(field) for field in OURS):
            return f"spec.template.spec.{kind} must keep {name}; its image, command and args are Penstock's."
        if any(mount not in as_mappings(after.get("volumeMounts")) for mount in before["volumeMounts"]):
            return f"spec.template.spec.{kind}[{name}].volumeMounts must keep what Penstock mounts."
    if any(volume not in as_mappings(pod.get("volumes")) for volume in ours["volumes"]):
        return f"spec.template.spec.volumes must keep those whose names begin with {VOLUME_PREFIX}."
    return None


def _named(items: object, name: str) -> Mapping[str, Any]:
    return next((item for item in as_mappings(items) if item.get("name") == name), {})


def _too_much(level: PodSecurity, metadata: Json, pod: Json) -> str | None:
    found = breaches(level, metadata, pod)
    if not found:
        return None
    return (
        f"The pods may do more than the pod security standard {level} allows. In spec.template.spec: "
        f"{' '.join(found)} Change that; who runs the operator can allow more (--pod-security)."
    )


def _settings(of: Ingredients, pod: Mapping[str, Any]) -> Json:
    grace = pod.get("terminationGracePeriodSeconds")
    is_mounted = of.spec.handler.config_map_ref is not None
    worker = WorkerPlace(
        name="",
        socket=naming.SOCKET,
        work_folder=naming.SCRATCH_FOLDER,
        python_path=(naming.CODE_FOLDER,) if is_mounted else (),
        code_source=naming.CODE_SOURCE_FOLDER if is_mounted else None,
        servers=tuple(of.connection.servers),
        secret_files=files.secret_files(of.spec, of.connection),
        grace_seconds=max(1, (grace if isinstance(grace, int) else SPARE_SECONDS) - LAST_SECONDS),
        probes=f":{naming.METRICS_PORT}",
        driver_probes=f":{naming.DRIVER_PROBES_PORT}",
    )
    return worker_settings(of.group, of.spec, of.connection, of.place, worker)
