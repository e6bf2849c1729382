"""What goes together in a Stream, and what does not: what the server would refuse, said at once and in words.

Knows the rules that one Stream can be judged by. Does not know what needs the server, another object, or a comparison
of every subject with every other; penstock_jetstream.config judges that when the Stream is planned.
"""

from penstock_operator.resources.metadata import DESCRIPTION_RULE, METADATA_RULE
from penstock_operator.resources.scalars import size_bytes
from penstock_operator.resources.terms import (
    Term,
    chosen,
    filled,
    given,
    longer_than,
    more_than,
    on,
    rule,
    shorter_than,
    switched_off,
    switched_on,
    value,
)

_LARGEST_MESSAGE_BYTES = 2**31 - 1
_TALK_OF_SERVERS = ("$JS", "$JSC", "$NRG", "$SYS")
_ALLOWED_TALK = ("$JS.EVENT.", "$SYS.ACCOUNT.")
_FIRST_TOKENS = "|".join(["[*]", *(f"[$]{name.removeprefix('$')}" for name in _TALK_OF_SERVERS)])


def _is_talk_of_servers(subject: str) -> bool:
    first, _, rest = subject.partition(".")
    return bool(rest) and first in ("*", *_TALK_OF_SERVERS) and not subject.startswith(_ALLOWED_TALK)


_TAKES_ALL = Term("(has(self.subjects) && '>' in self.subjects)", lambda stream: ">" in stream.subjects)
_TAKES_TALK = Term(
    f"(has(self.subjects) && self.subjects.exists(s, s.matches('^({_FIRST_TOKENS})[.]')"
    + "".join(f" && !s.startsWith('{prefix}')" for prefix in _ALLOWED_TALK)
    + "))",
    lambda stream: any(map(_is_talk_of_servers, stream.subjects)),
)
_TOO_LARGE = Term(
    f"(has(self.maxMessageSize) && quantity(self.maxMessageSize).isGreaterThan(quantity('{_LARGEST_MESSAGE_BYTES}')))",
    lambda stream: size_bytes(stream.max_message_size or "0") > _LARGEST_MESSAGE_BYTES,
)


def _no_bytes(field: str) -> Term:
    return Term(
        f"(has(self.{field}) && isQuantity(self.{field}) && !quantity(self.{field}).isGreaterThan(quantity('0')))",
        lambda stream: size_bytes(value(stream, field) or "1") == 0,
    )


_SOURCE_TWICE = Term(
    "(has(self.sources) && !self.sources.all(s, self.sources.exists_one(t, s.name == t.name"
    " && (has(s.filterSubject) ? s.filterSubject : '') == (has(t.filterSubject) ? t.filterSubject : '')"
    " && (has(s.external) ? s.external.apiPrefix : '') == (has(t.external) ? t.external.apiPrefix : '')"
    " && (has(s.subjectTransforms) ? s.subjectTransforms.map(e, has(e.destination) ? e.destination : '') : [])"
    " == (has(t.subjectTransforms) ? t.subjectTransforms.map(e, has(e.destination) ? e.destination : '') : [])"
    " && (has(s.subjectTransforms) ? s.subjectTransforms.map(e, has(e.source) ? e.source : '') : [])"
    " == (has(t.subjectTransforms) ? t.subjectTransforms.map(e, has(e.source) ? e.source : '') : []))))",
    lambda stream: len({repr(_origin(source)) for source in stream.sources}) < len(stream.sources),
)


def _origin(source: object) -> list[object]:
    external = value(source, "external")
    api = external.api_prefix if external else ""
    return [value(source, "name"), value(source, "filterSubject"), api, value(source, "subjectTransforms")]


_RANGES = (
    rule("maxAge is at least 100ms; leave it out to keep messages for ever.", ~shorter_than("maxAge", "100ms")),
    rule("duplicateWindow is at least 100ms.", ~shorter_than("duplicateWindow", "100ms")),
    rule(
        "duplicateWindow is at most maxAge: ids would outlive their messages.",
        ~longer_than("duplicateWindow", "maxAge"),
    ),
    rule("subjectDeleteMarkerTtl is at least 1s.", ~shorter_than("subjectDeleteMarkerTtl", "1s")),
    rule("maxBytes is at least 1; leave it out for no limit.", ~_no_bytes("maxBytes")),
    rule("maxMessageSize is at least 1; leave it out for no limit.", ~_no_bytes("maxMessageSize")),
    rule("maxMessageSize is at most 2147483647 bytes.", ~_TOO_LARGE),
)

_SUBJECTS = (
    rule(
        "A stream of all subjects (>) needs noAck: it would store its own acknowledgements.",
        on("noAck") | ~_TAKES_ALL,
    ),
    rule("A stream of all subjects (>) has one replica.", ~(_TAKES_ALL & more_than("replicas", 1))),
    rule(
        "A stream that takes what servers talk about ($JS, $JSC, $NRG, $SYS, or * in their place) needs noAck.",
        on("noAck") | ~_TAKES_TALK,
    ),
)

_DISCARD = (
    rule("discardNewPerSubject needs discard: New.", ~on("discardNewPerSubject") | chosen("discard", "New")),
    rule(
        "discardNewPerSubject needs maxMessagesPerSubject.",
        ~on("discardNewPerSubject") | given("maxMessagesPerSubject"),
    ),
)

_PURGING = (
    rule("denyPurge excludes allowRollup: a rollup purges.", ~(on("denyPurge") & switched_on("allowRollup"))),
    rule(
        "denyPurge excludes subjectDeleteMarkerTtl: markers purge.",
        ~(on("denyPurge") & given("subjectDeleteMarkerTtl")),
    ),
    rule(
        "denyPurge excludes allowMessageSchedules: schedules purge.",
        ~(on("denyPurge") & on("allowMessageSchedules")),
    ),
    rule(
        "subjectDeleteMarkerTtl switches allowMessageTtl on: leave it out, or set it.",
        ~(given("subjectDeleteMarkerTtl") & switched_off("allowMessageTtl")),
    ),
    rule(
        "subjectDeleteMarkerTtl and allowMessageSchedules switch allowRollup on: leave it out, or set it.",
        ~((given("subjectDeleteMarkerTtl") | on("allowMessageSchedules")) & switched_off("allowRollup")),
    ),
)

_COUNTERS = tuple(
    rule(f"allowMessageCounter excludes {what}.", ~(on("allowMessageCounter") & term))
    for what, term in (
        ("discard: New", chosen("discard", "New")),
        ("allowMessageTtl", switched_on("allowMessageTtl")),
        ("subjectDeleteMarkerTtl", given("subjectDeleteMarkerTtl")),
        ("allowMessageSchedules", on("allowMessageSchedules")),
        ("all retention but Limits", ~chosen("retention", "Limits")),
    )
)

_SCHEDULES = (
    rule("allowMessageSchedules excludes discard: New.", ~(on("allowMessageSchedules") & chosen("discard", "New"))),
    rule(
        "allowMessageSchedules excludes sources: let another stream have the sources.",
        ~(on("allowMessageSchedules") & filled("sources")),
    ),
)

_PERSISTENCE = (
    rule("persistMode: Async needs storage: File.", ~(chosen("persistMode", "Async") & chosen("storage", "Memory"))),
    rule("persistMode: Async needs one replica.", ~(chosen("persistMode", "Async") & more_than("replicas", 1))),
    rule(
        "persistMode: Async excludes allowAtomicPublish.", ~(chosen("persistMode", "Async") & on("allowAtomicPublish"))
    ),
)

_MIRROR = tuple(
    rule(f"A mirror excludes {field}: {why}.", ~(given("mirror") & term))
    for field, term, why in (
        ("subjects", filled("subjects"), "it takes what its origin has, and nothing else"),
        ("sources", filled("sources"), "it has one origin"),
        ("firstSequence", given("firstSequence"), "it has the sequences of its origin"),
        ("allowMessageCounter", on("allowMessageCounter"), "it copies what its origin counts"),
        ("allowAtomicPublish", on("allowAtomicPublish"), "nothing is published to it"),
        ("allowBatchedPublish", on("allowBatchedPublish"), "nothing is published to it"),
        ("allowMessageSchedules", on("allowMessageSchedules"), "it copies what its origin publishes"),
        (
            "subjectDeleteMarkerTtl",
            given("subjectDeleteMarkerTtl"),
            "markers would take sequences that the origin gives to others",
        ),
    )
)

_SOURCES = (rule("Each source is named once, or with different filters.", ~_SOURCE_TWICE),)

STREAM_RULES = (
    DESCRIPTION_RULE,
    METADATA_RULE,
    *_RANGES,
    *_SUBJECTS,
    *_DISCARD,
    *_PURGING,
    *_COUNTERS,
    *_SCHEDULES,
    *_PERSISTENCE,
    *_MIRROR,
    *_SOURCES,
)
