"""Where a queue group's code and its variables are on this machine, and what of the group has no meaning here.

Knows ConfigMaps that stand among the manifests, folders that manifests stand in, and what a pod would have that no
laptop has. Says in a sentence what cannot be run. Does not import the code.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from penstock_operator.local.home import LocalHome
from penstock_operator.local.manifests import STANDARD_INPUT, Manifests
from penstock_operator.local.state import write_whole
from penstock_operator.plan.declared import Identity
from penstock_operator.resources import QueueGroupSpec
from penstock_operator.resources.queue_group_handler import Variable

CODE = "code"
PODS_FIELDS = ("metadata.name", "metadata.namespace")
"""Of a pod, what a worker here has, too."""


class CannotRunError(Exception):
    """The group cannot be run on this machine; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Code:
    """Where the code is."""

    folder: Path
    files: Mapping[str, str] = field(default_factory=dict)
    """What is to be in the folder, if it is of a ConfigMap: by name."""

    def lay(self) -> None:
        """Have the files of a ConfigMap in their folder, and no others."""
        if not self.files:
            return
        for name, text in self.files.items():
            file = self.folder / name
            if not file.exists() or file.read_text(encoding="utf-8") != text:  # to write it would be an edit
                write_whole(file, text.encode())
        for other in self.folder.glob("*.py"):
            if other.name not in self.files:
                other.unlink()


def code_of(group: Identity, spec: QueueGroupSpec, manifests: Manifests, group_folder: Path) -> Code:
    """Find the code: in a ConfigMap among the manifests, else beside the group's own manifest."""
    reference = spec.handler.config_map_ref
    written = manifests.config_maps.get((group.namespace, reference.name)) if reference else None
    if written is not None:
        return Code(group_folder / CODE, written)
    return Code(folder_of(manifests.places[group]))


def folder_of(place: str) -> Path:
    """Return the folder of file:line."""
    file = place.rpartition(":")[0]
    return Path.cwd() if file == STANDARD_INPUT else Path(file).absolute().parent


def refuse(spec: QueueGroupSpec) -> None:
    """Raise what keeps a group from being run here."""
    if find_spec("penstock_worker") is None:
        raise CannotRunError("Its workers are not installed beside Penstock: pip install 'penstock[local]'.")
    if spec.spark.master.startswith("k8s://"):
        raise CannotRunError(
            f"spec.spark.master: {spec.spark.master} has executors as pods, and those cannot reach a laptop: run this "
            "group in the cluster, or use local[*] here."
        )


def means_nothing(spec: QueueGroupSpec, folder: Path) -> Iterator[str]:
    """Tell what of a group means nothing on this machine."""
    if spec.handler.image:
        yield (
            f"spec.handler.image means nothing on a laptop: the code is taken from {folder}, or from what is installed "
            "beside Penstock."
        )
    if spec.template.model_fields_set:
        yield "spec.template means nothing on a laptop: workers are processes, not pods."
    if spec.network.model_fields_set:
        yield "spec.network means nothing on a laptop: workers go where the laptop can."


async def environment(
    group: Identity, variables: list[Variable], worker: str, manifests: Manifests, home: LocalHome
) -> dict[str, str]:
    """Return the variables of a worker's driver."""
    found = {}
    for variable in variables:
        value = await _value(group, variable, worker, manifests, home)
        if value is not None:
            found[variable.name] = value
    return found


async def _value(group: Identity, variable: Variable, worker: str, manifests: Manifests, home: LocalHome) -> str | None:
    source = variable.value_from
    if source is None:
        return variable.value or ""
    if source.field_ref:
        return _of_pod(group, variable.name, source.field_ref.field_path, worker)
    if reference := source.config_map_key_ref:
        kind, data = "ConfigMap", manifests.config_maps.get((group.namespace, reference.name))
    elif reference := source.secret_key_ref:
        kind, secret = "Secret", await home.secret(group.namespace, reference.name)
        data = {key: value.decode(errors="replace") for key, value in secret.items()} if secret is not None else None
    else:
        return None
    if data is not None and reference.key in data:
        return data[reference.key]
    if reference.optional:
        return None
    what = f"has no key {reference.key}" if data is not None else "is not among the manifests"
    raise CannotRunError(f"spec.handler.env: {variable.name}: {kind} {group.namespace}/{reference.name} {what}.")


def _of_pod(group: Identity, variable: str, path: str, worker: str) -> str:
    if path not in PODS_FIELDS:
        raise CannotRunError(
            f"spec.handler.env: {variable}: there is no pod on a laptop, and so no {path}; there are "
            f"{' and '.join(PODS_FIELDS)}."
        )
    return worker if path == "metadata.name" else group.namespace


def digest(*parts: object) -> str:
    """Return what tells whether parts have changed."""
    return hashlib.sha256("\0".join(map(repr, parts)).encode()).hexdigest()
