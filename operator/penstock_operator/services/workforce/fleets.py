"""What the API server has of queue groups' workers, as watches show it: Deployments, pods, and what goes with them.

Knows which group an object is of, by its label, and which of two versions is newer: what we wrote is known before a
watch shows it. Does not know what any of it means (plan.fleet does). Memory only.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock_operator.plan.workload.naming import GROUP_LABEL
from penstock_operator.storage.children import CONFIG_MAPS, DEPLOYMENTS, PODS, SCALER, Collection
from penstock_operator.storage.watching import Changed, Event, Failed, Gone, Listed

Object = Mapping[str, Any]
Scope = str | None
"""A namespace, or all of them."""


@dataclass(frozen=True, slots=True)
class Label:
    """What the label of a group's objects says, in its namespace."""

    namespace: str
    value: str


@dataclass(frozen=True, slots=True)
class ConfigMapName:
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Fleet:
    """What there is of one group, by kind and name."""

    objects: Mapping[str, Mapping[str, Object]] = field(default_factory=dict)

    def made(self, kind: str, name: str) -> Object | None:
        return self.objects.get(kind, {}).get(name)

    def deployment(self, name: str) -> Object | None:
        return self.made(DEPLOYMENTS.kind, name)

    @property
    def pods(self) -> list[Object]:
        return list(self.objects.get(PODS.kind, {}).values())


NO_FLEET = Fleet()


class Fleets:
    """All that watches have shown, of all groups."""

    def __init__(self) -> None:
        self._fleets: dict[Label, dict[str, dict[str, Object]]] = {}
        self._config_maps: dict[ConfigMapName, str] = {}
        self._troubles: dict[tuple[str, Scope], str | None] = {}
        """Why something cannot be known: None before the first list, empty when it is known."""
        self._known: set[tuple[str, Scope]] = set()
        """What was listed at least once."""

    def fleet(self, label: Label) -> Fleet:
        return Fleet(self._fleets[label]) if label in self._fleets else NO_FLEET

    def config_map_version(self, name: ConfigMapName) -> str | None:
        """Return the version that a ConfigMap has; None if there is none of that name."""
        return self._config_maps.get(name)

    def expect(self, collection: Collection, scope: Scope) -> None:
        """Note that this is going to be watched: until it is, not all is known."""
        self._troubles[collection.kind, scope] = None

    @property
    def trouble(self) -> str:
        """Why not all is known; nothing once it is."""
        for (kind, _), trouble in self._troubles.items():
            if trouble is None:
                return f"Objects of kind {kind} are being listed."
            if trouble:
                return trouble
        return ""

    @property
    def is_filling(self) -> bool:
        """Whether something was never asked for yet: that passes by itself, within a second."""
        return None in self._troubles.values()

    @property
    def obstacle(self) -> str:
        """Why something has never been known; nothing once all was: an API server may be away for a moment."""
        never = (trouble for key, trouble in self._troubles.items() if key not in self._known)
        return next((trouble for trouble in never if trouble), "")

    def hear(self, collection: Collection, scope: Scope, event: Event) -> set[Label | ConfigMapName]:
        """Take in what a watch tells, and return whom that concerns: every group, if all is known from now on."""
        knew_all = not self.trouble
        if isinstance(event, Failed):
            self._troubles[collection.kind, scope] = event.sentence
        else:
            self._troubles[collection.kind, scope] = ""
            self._known.add((collection.kind, scope))
        concerned = self._heard(collection, scope, event)
        return concerned if knew_all == (not self.trouble) else concerned | set(self._fleets)

    def put(self, collection: Collection, made: Object) -> None:
        """Know what was written before a watch shows it."""
        self._keep(collection.kind, made)

    def _heard(self, collection: Collection, scope: Scope, event: Event) -> set[Label | ConfigMapName]:
        if collection is CONFIG_MAPS:
            return set(self._hear_config_maps(scope, event))
        match event:
            case Listed(objects=objects):
                return set(self._replace(collection.kind, scope, objects))
            case Changed(object=found):
                return {self._keep(collection.kind, found)}
            case Gone(object=found):
                return {self._drop(collection.kind, found)}
            case Failed():
                return set()

    def _replace(self, kind: str, scope: Scope, objects: Iterable[Object]) -> Iterable[Label]:
        """Know these, and no others of the kind; unless what we wrote ourselves is newer than the list."""
        listed = {(_label(found), found["metadata"]["name"]): found for found in objects}
        for label in list(self._fleets):
            if scope in (None, label.namespace):
                for name, known in list(self._fleets[label].get(kind, {}).items()):
                    if (label, name) not in listed:
                        yield self._drop(kind, known)
        for found in listed.values():
            yield self._keep(kind, found)

    def _keep(self, kind: str, found: Object) -> Label:
        label, metadata = _label(found), found["metadata"]
        of_kind = self._fleets.setdefault(label, defaultdict(dict))[kind]
        known = of_kind.get(metadata["name"])
        if known is None or known["metadata"]["uid"] != metadata["uid"] or _is_older(known, found):
            of_kind[metadata["name"]] = _slim(found)
        return label

    def _drop(self, kind: str, found: Object) -> Label:
        label, metadata = _label(found), found["metadata"]
        fleet = self._fleets.get(label, {})
        known = fleet.get(kind, {}).get(metadata["name"])
        if known is not None and known["metadata"]["uid"] == metadata["uid"]:
            del fleet[kind][metadata["name"]]
        if not any(fleet.values()):
            self._fleets.pop(label, None)
        return label

    def _hear_config_maps(self, scope: Scope, event: Event) -> Iterable[ConfigMapName]:
        before = self._config_maps
        match event:
            case Listed(objects=objects):
                beyond = {} if scope is None else {key: each for key, each in before.items() if key.namespace != scope}
                self._config_maps = {**beyond, **{_name(each): _version(each) for each in objects}}
                return (key for key in {*before, *self._config_maps} if before.get(key) != self._config_maps.get(key))
            case Changed(object=found):
                before[_name(found)] = _version(found)
                return (_name(found),)
            case Gone(object=found):
                before.pop(_name(found), None)
                return (_name(found),)
            case Failed():
                return ()


def _label(found: Object) -> Label:
    metadata = found["metadata"]
    return Label(metadata["namespace"], (metadata.get("labels") or {}).get(GROUP_LABEL, ""))


def _name(found: Object) -> ConfigMapName:
    return ConfigMapName(found["metadata"]["namespace"], found["metadata"]["name"])


def _version(found: Object) -> str:
    return str(found["metadata"]["resourceVersion"])


def _is_older(known: Object, found: Object) -> bool:
    return int(_version(known)) < int(_version(found))


def _slim(found: Object) -> Object:
    """Leave out who has written which field, but for what the scaler has: nobody else is asked for."""
    metadata = dict(found["metadata"])
    entries = metadata.pop("managedFields", None) or ()
    scaler = [entry for entry in entries if entry.get("manager") == SCALER]
    return {**found, "metadata": {**metadata, "managedFields": scaler} if scaler else metadata}
