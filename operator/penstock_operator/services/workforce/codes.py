"""The code of queue groups, as far as it is in ConfigMaps: the print of each, read again when its version has changed.

Watches tell versions alone: what all the ConfigMaps of a cluster hold is not for the operator's memory. Knows who uses
which. Does not know what a print is for (plan.workload).
"""

from collections import defaultdict

from penstock_operator.plan.declared import Identity
from penstock_operator.plan.workload import Code, code_print
from penstock_operator.services.workforce.fleets import ConfigMapName, Fleets
from penstock_operator.storage.children import CONFIG_MAPS, Children


class Codes:
    def __init__(self, children: Children, fleets: Fleets) -> None:
        self._children, self._fleets = children, fleets
        self._prints: dict[ConfigMapName, tuple[str, str]] = {}
        """The version that was read, and its print."""
        self._names: dict[Identity, ConfigMapName] = {}
        self._users: defaultdict[ConfigMapName, set[Identity]] = defaultdict(set)

    async def code(self, group: Identity, name: str | None) -> Code | None:
        """Return the code that a group names; None if it names none, or there is none of that name."""
        wanted = None if name is None else ConfigMapName(group.namespace, name)
        self._note(group, wanted)
        if wanted is None or (version := self._fleets.config_map_version(wanted)) is None:
            return None
        known = self._prints.get(wanted)
        if known is None or known[0] != version:
            known = await self._read(wanted)
        return None if known is None else Code(wanted.name, known[1])

    def users(self, name: ConfigMapName) -> frozenset[Identity]:
        """Return the groups that name a ConfigMap, whether it is there or not."""
        return frozenset(self._users.get(name, ()))

    def forget(self, group: Identity) -> None:
        self._note(group, None)

    async def _read(self, name: ConfigMapName) -> tuple[str, str] | None:
        found = await self._children.read(CONFIG_MAPS, name.namespace, name.name)
        if found is None:
            return None
        read = found["metadata"]["resourceVersion"], code_print(found.get("data") or {}, found.get("binaryData") or {})
        self._prints[name] = read
        return read

    def _note(self, group: Identity, name: ConfigMapName | None) -> None:
        before = self._names.get(group)
        if before == name:
            return
        if before is not None:
            del self._names[group]
            self._users[before].discard(group)
            if not self._users[before]:
                del self._users[before]
                self._prints.pop(before, None)
        if name is not None:
            self._names[group] = name
            self._users[name].add(group)
