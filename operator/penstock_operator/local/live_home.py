"""The local home of a run that goes on: manifests come and go, and what became of each object is kept for the screen.

Knows which generation of an object a file shows, as an API server would count it. Does not know what is done about it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from typing_extensions import override

from penstock_operator.local.home import LocalHome, Teller
from penstock_operator.local.manifests import Manifests
from penstock_operator.plan.declared import Declared, Identity


class LiveHome(LocalHome):
    """A home for as long as `up` runs."""

    def __init__(self, teller: Teller, secrets_folder: Path | None) -> None:
        super().__init__(Manifests(), teller, secrets_folder)
        self._generations: dict[Identity, int] = {}

    def lay(self, manifests: Manifests) -> tuple[list[Mapping[str, Any]], list[Declared]]:
        """Take in what files declare now; return what has changed, as a cluster shows it, and what is gone."""
        before, known = self.contents, self.declared
        self._manifests, self.contents = manifests, manifests.contents
        changed = [identity for identity, content in manifests.contents.items() if before.get(identity) != content]
        gone = [declared for identity, declared in known.items() if identity not in manifests.contents]
        for identity in changed:
            self._generations[identity] = self._generations.get(identity, 0) + 1
        self.declared = {
            identity: self._renewed(declared, known.get(identity)) for identity, declared in manifests.declared.items()
        }
        return list(self._shown(changed)), gone

    @override
    async def write_status(self, declared: Declared, status: Mapping[str, Any]) -> None:
        if declared.identity in self.declared:  # else its manifest went while it was worked on
            await super().write_status(declared, status)

    def ready(self, identity: Identity) -> Mapping[str, Any] | None:
        """Return the condition Ready of what an object is now; None if it was not looked at since it changed."""
        declared = self.declared.get(identity)
        conditions = declared.status.get("conditions") or () if declared else ()
        found = next((each for each in conditions if each["type"] == "Ready"), None)
        is_current = found and declared and found.get("observedGeneration", declared.generation) == declared.generation
        return found if is_current else None

    def _renewed(self, declared: Declared, before: Declared | None) -> Declared:
        generation = self._generations[declared.identity]
        if before is None:
            return replace(declared, generation=generation)
        return replace(declared, generation=generation, status=before.status, finalizers=before.finalizers)

    def _shown(self, changed: list[Identity]) -> Iterator[Mapping[str, Any]]:
        for identity in changed:
            declared, content = self.declared[identity], self.contents[identity]
            added = {
                "uid": declared.uid,
                "generation": declared.generation,
                "creationTimestamp": declared.created_at.isoformat(),
                "finalizers": list(declared.finalizers),
            }
            yield {**content, "metadata": {**content["metadata"], **added}, "status": declared.status}
