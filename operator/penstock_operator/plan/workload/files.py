"""The volumes of a worker's pod, and where its two containers find them.

Knows which of them each container sees: Secrets of the Connection are the engine's alone; code, the token for Spark and
that for the API server the driver's. Does not know what a worker is told.
"""

from collections.abc import Iterable
from typing import Any

from penstock_operator.plan.worker_settings import secret_keys
from penstock_operator.plan.workload import naming
from penstock_operator.resources import ConnectionSpec, QueueGroupSpec

Json = dict[str, Any]
SOCKET_BYTES = "1Mi"
TOKEN_SECONDS = 3607
"""As the API server itself has it mounted: an hour, and a little that tells it from others."""


def volumes_of(spec: QueueGroupSpec, connection: ConnectionSpec, *, calls_api: bool) -> list[Json]:
    """Return all volumes."""
    found = [
        _volume(naming.SETTINGS_VOLUME, downwardAPI={"items": [_settings_item()]}),
        _volume(naming.SOCKET_VOLUME, emptyDir={"medium": "Memory", "sizeLimit": SOCKET_BYTES}),
        _volume(naming.ENGINE_TMP_VOLUME, emptyDir={}),
        _volume(naming.DRIVER_TMP_VOLUME, emptyDir={}),
        _volume(naming.WORK_VOLUME, emptyDir={}),
    ]
    if keys := secret_keys(connection):
        found.append(_volume(naming.SECRETS_VOLUME, projected={"sources": _secrets(keys)}))
    if token := spec.spark.token_secret_ref:
        found.append(_volume(naming.TOKEN_VOLUME, projected={"sources": _secrets([(token.name, token.key)])}))
    if code := spec.handler.config_map_ref:
        found.append(_volume(naming.CODE_VOLUME, configMap={"name": code.name}))
        found.append(_volume(naming.CODE_COPY_VOLUME, emptyDir={}))
    if calls_api:
        found.append(_volume(naming.API_VOLUME, projected={"sources": _api_sources()}))
    return found


def engine_mounts(connection: ConnectionSpec) -> list[Json]:
    """Return what the engine sees."""
    secrets = [_mount(naming.SECRETS_VOLUME, naming.SECRETS_FOLDER, is_read_only=True)]
    return [*_common(), _mount(naming.ENGINE_TMP_VOLUME, naming.TMP), *(secrets if secret_keys(connection) else ())]


def driver_mounts(spec: QueueGroupSpec, *, calls_api: bool) -> list[Json]:
    """Return what the driver sees."""
    found = [
        *_common(),
        _mount(naming.DRIVER_TMP_VOLUME, naming.TMP),
        _mount(naming.WORK_VOLUME, naming.WORKING_FOLDER),
    ]
    if spec.spark.token_secret_ref:
        found.append(_mount(naming.TOKEN_VOLUME, naming.SECRETS_FOLDER, is_read_only=True))
    if spec.handler.config_map_ref:
        found.append(_mount(naming.CODE_VOLUME, naming.CODE_SOURCE_FOLDER, is_read_only=True))
        found.append(_mount(naming.CODE_COPY_VOLUME, naming.CODE_FOLDER))
    if calls_api:
        found.append(_mount(naming.API_VOLUME, naming.API_FOLDER, is_read_only=True))
    return found


def secret_files(spec: QueueGroupSpec, connection: ConnectionSpec) -> dict[tuple[str, str], str]:
    """Return where each value of a Secret is, by the Secret's name and the key."""
    keys = set(secret_keys(connection))
    if token := spec.spark.token_secret_ref:
        keys.add((token.name, token.key))
    return {(name, key): f"{naming.SECRETS_FOLDER}/{_path(name, key)}" for name, key in keys}


def _common() -> list[Json]:
    return [
        _mount(naming.SETTINGS_VOLUME, naming.SETTINGS_FOLDER, is_read_only=True),
        _mount(naming.SOCKET_VOLUME, naming.SOCKET_FOLDER),
    ]


def _volume(name: str, **source: Json) -> Json:
    return {"name": name, **source}


def _mount(volume: str, path: str, *, is_read_only: bool = False) -> Json:
    return {"name": volume, "mountPath": path, **({"readOnly": True} if is_read_only else {})}


def _settings_item() -> Json:
    field = f"metadata.annotations['{naming.SETTINGS_ANNOTATION}']"
    return {"path": naming.SETTINGS_FILE, "fieldRef": {"fieldPath": field}}


def _secrets(keys: Iterable[tuple[str, str]]) -> list[Json]:
    """Return the Secrets, and of each only the keys that are named. The kubelet writes them anew when they change."""
    by_name: dict[str, list[str]] = {}
    for name, key in sorted(keys):
        by_name.setdefault(name, []).append(key)
    return [
        {"secret": {"name": name, "items": [{"key": key, "path": _path(name, key)} for key in keys_of_it]}}
        for name, keys_of_it in by_name.items()
    ]


def _path(secret: str, key: str) -> str:
    return f"{secret}/{key}"


def _api_sources() -> list[Json]:
    """Return what a client of the API server looks for: the driver alone has it, not every container of the pod."""
    return [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": TOKEN_SECONDS}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]
