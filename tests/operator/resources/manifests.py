"""Manifests that hypothesis generates from a kind's schema: valid ones, and others with one change."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as some

from penstock_operator.resources import Kind, definition
from penstock_operator.resources.names import compile_re2
from tests.operator.resources.judging import manifest

Schema = dict[str, Any]
JSON = Any
Values = some.SearchStrategy[JSON]

FEW = 3
"""Longer lists and maps tell nothing more, unless a limit is to be broken."""
MOST = 2**63 - 1
WORDS = some.sampled_from(
    [
        "orders",
        "orders.>",
        "a b",
        "",
        "x" * 70,
        "5s",
        "1d",
        "32Mi",
        "spark.ui.enabled",
        "driver",
        "penstock-a",
        "\u00e9\u2003",
    ]
)
LETTERS = some.text(some.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)
NAMES = some.sampled_from(["one", "orders-etl", "a.b"])
PATTERN_IN_RULE = re.compile(r"^self\.matches\(r?'([^']+)'\)")
SCALARS = some.one_of(
    some.none(), some.booleans(), some.integers(-2, MOST), some.sampled_from([0.5, 5.0]), LETTERS, WORDS
)
NOTHING: Values = some.just({})
ANYTHING: Values = some.recursive(
    SCALARS,
    lambda inner: some.one_of(some.lists(inner, max_size=FEW), some.dictionaries(WORDS, inner, max_size=FEW)),
    max_leaves=FEW,
)


def manifests(kind: Kind, hints: Mapping[str, Values], base: Values = NOTHING) -> Values:
    """Return manifests of a kind; about half of them are changed somewhere, so that they may be wrong.

    Hints are other valid values by field, such as spec.servers[]; most manifests have the fields of the base.
    """
    [version] = definition(kind)["spec"]["versions"]
    made = _Making(hints).values(version["schema"]["openAPIV3Schema"]["properties"]["spec"], "spec")
    specs = some.builds(lambda spec, fixed: {**spec, **fixed}, made, some.one_of(base, base, base, NOTHING))
    return some.builds(manifest, some.just(kind), some.one_of(specs, specs.flatmap(_changed)), NAMES)


@dataclass(frozen=True)
class _Making:
    hints: Mapping[str, Values]

    def values(self, schema: Schema, path: str) -> Values:
        likely = [self.hints[path]] if path in self.hints else []
        if "default" in schema and "properties" not in schema:
            likely.append(some.just(schema["default"]))
        return some.one_of(*likely, self._of_any_kind(schema, path))

    def _of_any_kind(self, schema: Schema, path: str) -> Values:
        match schema["type"]:
            case "string":
                return _strings(schema)
            case "integer":
                return _integers(schema)
            case "boolean":
                return some.booleans()
            case "array":
                return self._arrays(schema, path)
            case _:
                return self._objects(schema, path)

    def _arrays(self, schema: Schema, path: str) -> Values:
        least = schema.get("minItems", 0)
        return some.lists(
            self.values(schema["items"], f"{path}[]"),
            min_size=least,
            max_size=min(schema["maxItems"], least + FEW),
            unique_by=repr if schema.get("x-kubernetes-list-type") == "set" else None,
        )

    def _objects(self, schema: Schema, path: str) -> Values:
        if "additionalProperties" in schema:
            inner = self.values(schema["additionalProperties"], f"{path}[]")
            return some.dictionaries(some.one_of(WORDS, LETTERS), inner, max_size=FEW)
        fields = {name: self.values(inner, f"{path}.{name}") for name, inner in schema.get("properties", {}).items()}
        required = {name: fields[name] for name in schema.get("required", ())}
        others = sorted(fields.keys() - required.keys())
        some_others = some.lists(some.sampled_from(others), max_size=FEW, unique=True) if others else some.just([])
        known = some_others.flatmap(
            lambda chosen: some.fixed_dictionaries({**required, **{name: fields[name] for name in chosen}})
        )
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            return known
        more = some.dictionaries(some.sampled_from(["tolerations", "hostNetwork"]), ANYTHING, max_size=1)
        return some.builds(lambda unknown, given: {**unknown, **given}, more, known)


def _strings(schema: Schema) -> Values:
    if "enum" in schema:
        return some.sampled_from(schema["enum"])
    if schema.get("format") == "date-time":
        return some.datetimes().map(lambda time: f"{time.replace(microsecond=0).isoformat()}Z")
    rules = [PATTERN_IN_RULE.match(rule["rule"]) for rule in schema.get("x-kubernetes-validations", ())]
    patterns = [schema["pattern"]] if "pattern" in schema else [rule[1] for rule in rules if rule]
    texts = some.from_regex(compile_re2(patterns[0]), fullmatch=True) if patterns else some.one_of(WORDS, LETTERS)
    return texts.filter(lambda text: schema.get("minLength", 0) <= len(text) <= schema["maxLength"])


def _integers(schema: Schema) -> Values:
    least, most = schema.get("minimum", -MOST), schema.get("maximum", MOST)
    return some.one_of(some.integers(least, min(most, least + 10)), some.integers(least, most))


def _places(value: JSON, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the ways to everything in a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(place for key, part in inside for place in _places(part, (*way, key)))]


def _changed(spec: JSON) -> Values:
    return some.builds(
        _change, some.just(spec), some.sampled_from(_places(spec)), some.sampled_from(_CHANGES), ANYTHING
    )


def _change(value: JSON, way: tuple[Any, ...], change: Callable[[JSON, JSON], JSON], other: JSON) -> JSON:
    if not way:
        return change(value, other)
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[way[0]] = _change(value[way[0]], way[1:], change, other)
    return copy


def _more(value: JSON, other: JSON) -> JSON:
    """Make more of it: an unknown field, an element twice, a longer text, a greater number."""
    match value:
        case dict():
            return {**value, "somethingElse": other}
        case list():
            return [*value, *value]
        case str():
            return value * 600
        case bool():
            return not value
        case int():
            return value + 2**63
        case _:
            return other


def _less(value: JSON, other: JSON) -> JSON:
    """Make less of it: a field, an element or a letter fewer, or nothing."""
    match value:
        case dict():
            return dict(list(value.items())[1:]) or None
        case list() | str():
            return value[1:] or None
        case _:
            return other


def _other(value: JSON, other: JSON) -> JSON:
    """Put anything in its place."""
    del value
    return other


_CHANGES = (_more, _less, _other)
