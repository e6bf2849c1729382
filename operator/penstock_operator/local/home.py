"""The local home: objects are declared in manifests, and what becomes of them is kept in memory and told at once.

Knows where Secrets are without a cluster: in the manifests, or in a folder, as DIR/NAME/KEY. Does not know NATS, nor
what is printed: it hands each event to whoever made it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock_jetstream import Reach
from penstock_operator.local.manifests import Manifests, is_object_name
from penstock_operator.plan.decision import Note
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.services.home import HomeError

NAME_LABEL = "kubernetes.io/metadata.name"
"""Every namespace has it, with its own name."""

Teller = Callable[[Declared, Note], None]


class LocalHome:
    """A home for as long as a command runs."""

    def __init__(self, manifests: Manifests, teller: Teller, secrets_folder: Path | None = None) -> None:
        self.declared: dict[Identity, Declared] = dict(manifests.declared)
        """Each object as it is now."""
        self.contents: Mapping[Identity, Mapping[str, Any]] = manifests.contents
        """Each as it was written."""
        self._manifests = manifests
        self._teller = teller
        self._secrets_folder = secrets_folder

    async def write_status(self, declared: Declared, status: Mapping[str, Any]) -> None:
        self._keep(declared, status=status)

    async def write_finalizers(self, declared: Declared, finalizers: Sequence[str]) -> None:
        self._keep(declared, finalizers=tuple(finalizers))

    async def exists(self, declared: Declared) -> bool:
        return declared.identity in self.declared

    async def tell(self, declared: Declared, note: Note) -> None:
        self._teller(declared, note)

    async def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        written = self._manifests.secrets.get((namespace, name))
        return self._secret_in_folder(name) if written is None else written

    async def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        return {**self._manifests.namespaces.get(namespace, {}), NAME_LABEL: namespace}

    def reach(self, namespace: str) -> Reach | None:
        """Return the way to servers that Connections of a namespace name, where they cannot just be dialled."""
        del namespace
        return None

    def _keep(self, declared: Declared, **change: Any) -> None:  # noqa: ANN401 - fields of Declared
        self.declared[declared.identity] = replace(self.declared[declared.identity], **change)

    def _secret_in_folder(self, name: str) -> dict[str, bytes] | None:
        if self._secrets_folder is None or not is_object_name(name):
            return None
        folder = self._secrets_folder / name
        try:
            files = [file for file in folder.iterdir() if file.is_file()] if folder.is_dir() else None
            return None if files is None else {file.name: file.read_bytes() for file in files}
        except OSError as problem:
            raise HomeError(f"The Secret {name} cannot be read from {folder}: {problem.strerror}.") from problem
