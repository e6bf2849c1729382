"""What a pod's spec becomes with a template merged into it, as `kubectl patch --type strategic` would do it.

Knows by which field Kubernetes knows the items of a pod's lists, and the two directives that a person may write
($patch: replace, $patch: delete). Those that only programs write are refused. There is no library for this in Python:
Kubernetes' own is Go, and reads the keys out of Go's types. The API server is asked for comparison by the tests.
"""

from collections.abc import Mapping, Sequence
from typing import Any

CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
IN_CONTAINERS = {"ports": "containerPort", "env": "name", "volumeMounts": "mountPath", "volumeDevices": "devicePath"}
MERGE_KEYS: dict[tuple[str, ...], str] = {
    **{(name,): "name" for name in CONTAINER_LISTS},
    **{(name, inner): key for name in CONTAINER_LISTS for inner, key in IN_CONTAINERS.items()},
    ("volumes",): "name",
    ("imagePullSecrets",): "name",
    ("hostAliases",): "ip",
    ("topologySpreadConstraints",): "topologyKey",
    ("schedulingGates",): "name",
    ("resourceClaims",): "name",
}
"""Of a pod's spec, which lists are merged item by item, and by which field. All others are replaced."""
DIRECTIVE, REPLACE, DELETE = "$patch", "replace", "delete"

_Path = tuple[str, ...]


class UnmergeableError(ValueError):
    """The template cannot be merged; the text is a sentence that names the field."""


def merged(spec: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pod's spec with a patch merged into it. Neither is changed."""
    return _mapping(spec, patch, ())


def _mapping(original: Mapping[str, Any], patch: Mapping[str, Any], path: _Path) -> dict[str, Any]:
    directive = patch.get(DIRECTIVE)
    if directive is not None:
        return _directed(directive, patch, path)
    result = dict(original)
    for name, value in patch.items():
        _refuse_programs_words(name, path)
        inner = (*path, name)
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(original.get(name), Mapping):
            result[name] = _mapping(original[name], value, inner)
        elif isinstance(value, list) and isinstance(original.get(name), list) and inner in MERGE_KEYS:
            result[name] = _list(original[name], value, inner)
        else:
            _put(result, name, value, inner)
    return result


def _directed(directive: object, patch: Mapping[str, Any], path: _Path) -> dict[str, Any]:
    if directive == DELETE:
        return {}
    if directive == REPLACE:
        replaced: dict[str, Any] = _bare(patch, path)
        return replaced
    raise UnmergeableError(f"{_place(path)}{DIRECTIVE} is {REPLACE} or {DELETE}, not {directive!r}.")


def _refuse_programs_words(name: str, path: _Path) -> None:
    if name.startswith("$"):
        raise UnmergeableError(
            f"{_place(path)}{name}: of a patch's directives, only {DIRECTIVE} is taken in a template."
        )


def _put(result: dict[str, Any], name: str, value: object, path: _Path) -> None:
    """Take a value that there is nothing to merge with; what it says about merging has no meaning then."""
    kept = _plain(value, path)
    if kept is _NOTHING:
        result.pop(name, None)
    else:
        result[name] = kept


_NOTHING = object()


def _plain(value: object, path: _Path) -> object:
    """Return a value without nulls, and without what is under a directive."""
    if isinstance(value, Mapping):
        if DIRECTIVE in value:
            return _NOTHING
        for name in value:
            _refuse_programs_words(name, path)
        inner = {name: _plain(each, (*path, name)) for name, each in value.items() if each is not None}
        return {name: each for name, each in inner.items() if each is not _NOTHING}
    if isinstance(value, list):
        return [kept for each in value if (kept := _plain(each, path)) is not _NOTHING]
    return value


def _bare(value: Any, path: _Path) -> Any:  # noqa: ANN401 - JSON is anything
    """Return a value without nulls and directives, where these have nothing to say any more."""
    if isinstance(value, Mapping):
        for name in value:
            if name != DIRECTIVE:
                _refuse_programs_words(name, path)
        kept = {name: each for name, each in value.items() if name != DIRECTIVE and each is not None}
        return {name: _bare(each, (*path, name)) for name, each in kept.items()}
    if isinstance(value, list):
        return [_bare(each, path) for each in value]
    return value


def _list(original: list[Any], patch: list[Any], path: _Path) -> list[Any]:
    key = MERGE_KEYS[path]
    _check_items(original + patch, key, path)
    kept, added, is_replaced = list(original), [], False
    for item in patch:
        match item.get(DIRECTIVE):
            case None:
                added.append(item)
            case str() as word if word == DELETE:
                kept = [each for each in kept if each[key] != item[key]]
            case str() as word if word == REPLACE:
                is_replaced = True
            case word:
                raise UnmergeableError(f"{_place(path)}{DIRECTIVE} is {REPLACE} or {DELETE}, not {word!r}.")
    if is_replaced:
        return [_bare(item, path) for item in added]
    return _in_order(kept, _merged_items(kept, added, key, path), [item[key] for item in added], key)


def _check_items(items: Sequence[object], key: str, path: _Path) -> None:
    for item in items:
        if not isinstance(item, Mapping):
            raise UnmergeableError(f"{_name(path)}: its items are mappings, not {item!r}.")
        if key not in item and item.get(DIRECTIVE) != REPLACE:
            raise UnmergeableError(f"{_name(path)}: an item has no {key}, by which it is known.")


def _merged_items(original: list[Any], patch: list[Any], key: str, path: _Path) -> list[Any]:
    result = list(original)
    for item in patch:
        place = next((index for index, each in enumerate(result) if each[key] == item[key]), None)
        if place is None:
            result.append(_bare(item, path))
        else:
            result[place] = _mapping(result[place], item, path)
    return result


def _in_order(original: list[Any], items: list[Any], patched: list[Any], key: str) -> list[Any]:
    """Order as the API server does: what the patch names comes first, but never before what stood before it."""
    places = {item[key]: place for place, item in enumerate(original)}
    ours = [item for item in items if item[key] not in patched]
    theirs = sorted((item for item in items if item[key] in patched), key=lambda item: patched.index(item[key]))
    result = []
    while ours and theirs:
        left, right = places.get(ours[0][key]), places.get(theirs[0][key])
        is_ours_first = left is not None and right is not None and left < right
        result.append((ours if is_ours_first else theirs).pop(0))
    return result + ours + theirs


def _name(path: _Path) -> str:
    return ".".join(("spec", "template", "spec", *path))


def _place(path: _Path) -> str:
    return f"{_name(path)}."
