"""What is said about a configuration, in the words of manifests: the server's own spelling never reaches people.

Knows how names, paths, values and whole sentences are put. Does not know what is said, or when.
"""

import json
import re
from collections.abc import Iterator
from functools import cache

from penstock_jetstream.config import CONSUMER, STREAM, Field, values
from penstock_operator.resources.consumer import ConsumerSpec
from penstock_operator.resources.part import Part
from penstock_operator.resources.server import Counterpart, counterparts
from penstock_operator.resources.spelling import from_server
from penstock_operator.resources.stream import StreamSpec

_SIDES: dict[str, tuple[type[Part], tuple[Field, ...]]] = {
    "Stream": (StreamSpec, STREAM.fields),
    "Consumer": (ConsumerSpec, CONSUMER.fields),
}
_TOGETHER = {"filter_subject": "filter_subjects", "name": "durable_name"}
"""Fields of a consumer that have one counterpart with another field."""
_WORD = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
"""A name that only the server spells so: no English word has an underscore."""
_SETTING = re.compile(r"\b([a-z_]+)=([a-z_]+)\b")
"""A field with a value, both as the server spells them: storage=file is storage: File."""


def spec_field(kind: str, server_field: str) -> str:
    """Return what a field of the server's is called in a spec: max_age of a Stream is maxAge.

    A path such as sources[0].filter_subject is one as well. What has no name of ours keeps the server's.
    """
    return ".".join(_path(server_field, *_SIDES[kind]))


def spec_value(kind: str, server_field: str, value: object) -> str:
    """Spell a value of a field of the server's as a manifest would, for people: 1h, WorkQueue, ["a", "b"]."""
    found = _counterpart(*_SIDES[kind], server_field)
    if found is None:
        return json.dumps(value, ensure_ascii=False)
    if found.server.type.canonical(value) is None:
        return "false" if isinstance(found.server.type, values.Flag) else "not set"
    single = isinstance(found.server.type, values.ListOf) and isinstance(value, str)
    spelt = from_server(found, [value] if single else value)
    return spelt if isinstance(spelt, str) else json.dumps(spelt, ensure_ascii=False)


def spec_words(kind: str, sentence: str) -> str:
    """Put our names and values in place of the server's, in a sentence about a configuration."""
    names = _names(kind)
    sentence = _SETTING.sub(
        lambda setting: f"{spec_field(kind, setting[1])}: {spec_value(kind, *setting.groups())}", sentence
    )
    return _WORD.sub(lambda match: names.get(match[0], match[0]), sentence)


@cache
def _names(kind: str) -> dict[str, str]:
    return dict(_words(*_SIDES[kind]))


def _path(server_path: str, part: type[Part], fields: tuple[Field, ...]) -> Iterator[str]:
    first, _, rest = server_path.partition(".")
    name, bracket, index = first.partition("[")
    found = _counterpart(part, fields, name)
    yield f"{found.alias if found else name}{bracket}{index}"
    if rest and found and found.part:
        yield from _path(rest, found.part, _inner_fields(found.server))
    elif rest:
        yield rest


def _counterpart(part: type[Part], fields: tuple[Field, ...], name: str) -> Counterpart | None:
    known = {each.server.name: each for each in counterparts(part, fields)}
    return known.get(name) or known.get(_TOGETHER.get(name, name))


def _inner_fields(field: Field) -> tuple[Field, ...]:
    kind = field.type.of if isinstance(field.type, values.ListOf) else field.type
    return kind.fields if isinstance(kind, values.Record) else ()


def _words(part: type[Part], fields: tuple[Field, ...]) -> Iterator[tuple[str, str]]:
    """Yield the server's words with ours. A later one is the stronger: names of fields before names of values."""
    ours = counterparts(part, fields)
    for each in ours:
        if isinstance(each.server.type, values.Choice):
            yield from ((name, str(from_server(each, name))) for name in each.server.type.names)
    yield from ((theirs, each.alias) for theirs, name in _TOGETHER.items() for each in ours if each.server.name == name)
    for each in ours:
        if each.part:
            yield from _words(each.part, _inner_fields(each.server))
    yield from ((each.server.name, each.alias) for each in ours)
